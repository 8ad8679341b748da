/** Starts the view. */
import { render } from 'preact';

import { App } from './app';
import { followAddress } from './route';
import { keepTitle } from './parts/title';
import { applyLook } from './settings';
import { keepAboveKeyboard, keepShell } from './shell';
import { followStorage } from './wire/device';
import './style/base.css';
import './style/panes.css';
import './style/chat.css';
import './style/entry.css';

applyLook();
followAddress();
followStorage();
keepTitle();
const root = document.getElementById('view');
if (root) render(<App />, root);
keepAboveKeyboard();
keepShell();
