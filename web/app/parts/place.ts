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

/** A name for a session that does not move on with a pane. A rewritten file is known by another one (`~1`), which is none to ask by. */
export function fixedName(kind: string, session: string): string | undefined {
  return FIXED_KINDS.includes(kind) && /^[A-Za-z0-9_-]+$/.test(session) ? `${kind}:${session}` : undefined;
}

export function placeOf(pane: string, subagent: string | undefined, kind: string, session: string): Place {
  // A number belongs to a session, and a pane can move on.
  const moves = pane !== 'demo' && (!isStandalone(pane) || /:(?:latest$|dir:)/.test(pane));
  const fixedPane = (moves ? fixedName(kind, session) : undefined) ?? pane;
  return {
    key: `${pane}/${subagent ?? ''}/${session}`,
    subagent,
    fixedPane,
    childHref: (agent) => hashOf({ page: 'pane', pane, subagent: agent }),
    linkTo: (seq) => new URL(hashOf({ page: 'pane', pane: fixedPane, subagent, seq }), location.href).href,
  };
}
