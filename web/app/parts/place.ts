/** Which conversation a row is in, and how addresses in it are made. */
import { hashOf, isStandalone } from '../route';

export interface Place {
  /** Tells one conversation from another. */
  readonly key: string;
  readonly subagent: string | undefined;
  /** A name for this session that does not move on with the pane. */
  readonly fixedPane: string;
  childHref(agent: string): string;
  linkTo(seq: number): string;
}

const FIXED_KINDS: readonly string[] = ['claude', 'codex', 'pi', 'opencode'];

export function placeOf(pane: string, subagent: string | undefined, kind: string, session: string): Place {
  // A rewritten file is known by another name (`~1`), which is none to ask by. A number belongs to a session, and a pane can move on.
  const canBeFixed = FIXED_KINDS.includes(kind) && /^[A-Za-z0-9_-]+$/.test(session) && pane !== 'demo';
  const moves = !isStandalone(pane) || /:(?:latest$|dir:)/.test(pane);
  const fixedPane = canBeFixed && moves ? `${kind}:${session}` : pane;
  return {
    key: `${pane}/${subagent ?? ''}/${session}`,
    subagent,
    fixedPane,
    childHref: (agent) => hashOf({ page: 'pane', pane, subagent: agent }),
    linkTo: (seq) => new URL(hashOf({ page: 'pane', pane: fixedPane, subagent, seq }), location.href).href,
  };
}
