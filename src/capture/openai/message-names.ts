/**
 * Names of the attributes of a message, made once: putting together two names for each message of a long conversation
 * costs more than reading it.
 *
 * @module
 */

/** Names of one message's attributes. */
export interface MessageNames {
  readonly role: string;
  readonly content: string;
  /** What the other names start with, without the dot. */
  readonly at: string;
}

/** Longer conversations have their names made anew. */
const KEPT = 1024;

/** The names under `prefix`, by position. */
export function createMessageNames(prefix: string): (position: number) => MessageNames {
  const kept: MessageNames[] = [];
  const make = (position: number): MessageNames => {
    const at = `${prefix}.${position}`;
    return { at, role: `${at}.role`, content: `${at}.content` };
  };
  return (position) => {
    if (position >= KEPT) return make(position);
    for (let next = kept.length; next <= position; next++) kept.push(make(next));
    return kept[position] as MessageNames;
  };
}
