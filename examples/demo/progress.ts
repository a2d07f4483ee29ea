/**
 * Shows how far a long piece of work is.
 *
 * @module
 */

/** Where progress is written: standard error, so that standard output holds the result alone. */
export interface ProgressOutput {
  isTTY?: boolean;
  write(text: string): unknown;
}

/** Lines written in all where nothing can be rewritten. */
const LINES = 4;
const BAR = 24;

/** Called with the number of finished pieces. On a terminal one line is rewritten; elsewhere a few lines are written. */
export function createProgress(what: string, total: number, output: ProgressOutput): (done: number) => void {
  const step = Math.ceil(total / LINES);
  return (done) => {
    if (output.isTTY === true) {
      const full = Math.round((BAR * done) / total);
      const bar = `${"█".repeat(full)}${"░".repeat(BAR - full)}`;
      output.write(`\r${bar} ${done} of ${total} ${what}${done === total ? "\n" : ""}`);
    } else if (done % step === 0 || done === total) {
      output.write(`${done} of ${total} ${what}\n`);
    }
  };
}
