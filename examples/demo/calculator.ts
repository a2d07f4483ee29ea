/**
 * The solver's tool: works out an arithmetic expression.
 *
 * @module
 */

/**
 * Value of an expression of numbers, `+ - * / %` and brackets, rounded to ten decimals.
 *
 * @throws Error when the expression is not one, or divides by zero
 */
export function calculate(expression: string): number {
  const tokens = expression.match(/\d+(?:\.\d+)?|\S/g) ?? [];
  let at = 0;

  function factor(): number {
    const token = tokens[at++];
    if (token === "-") return -factor();
    if (token === "(") {
      const inner = sum();
      if (tokens[at++] !== ")") throw new Error(`a bracket is not closed in "${expression}"`);
      return inner;
    }
    const value = Number(token);
    if (token === undefined || Number.isNaN(value)) {
      throw new Error(`a number is missing before "${token ?? "the end"}" in "${expression}"`);
    }
    return value;
  }

  function product(): number {
    let value = factor();
    for (let sign = tokens[at]; sign === "*" || sign === "/" || sign === "%"; sign = tokens[at]) {
      at++;
      const next = factor();
      if (next === 0 && sign !== "*") throw new Error(`division by zero in "${expression}"`);
      value = sign === "*" ? value * next : sign === "/" ? value / next : value % next;
    }
    return value;
  }

  function sum(): number {
    let value = product();
    for (let sign = tokens[at]; sign === "+" || sign === "-"; sign = tokens[at]) {
      at++;
      value += sign === "+" ? product() : -product();
    }
    return value;
  }

  const value = sum();
  if (at < tokens.length) throw new Error(`"${tokens[at]}" is no sign of arithmetic`);
  return Number(value.toFixed(10));
}
