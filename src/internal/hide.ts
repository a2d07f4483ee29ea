/**
 * Puts a method of ours before one of the user's object, on that one object.
 *
 * @module
 */

/** Gives `target` an own method that enumeration does not show; false when the object refuses it. */
export function hide(target: object, name: PropertyKey, value: unknown): boolean {
  return Reflect.defineProperty(target, name, {
    value,
    configurable: true,
    enumerable: false,
    writable: true,
  });
}

/**
 * The value of `name` that {@link hide} would put another one before. A proxy may give something else when it is read,
 * which calls the object behind it: there the new method would call itself.
 */
export function hidden(target: object, name: PropertyKey): unknown {
  for (let owner: object | null = target; owner !== null; owner = Object.getPrototypeOf(owner)) {
    const property = Object.getOwnPropertyDescriptor(owner, name);
    if (property !== undefined)
      return "value" in property ? property.value : (target as Record<PropertyKey, unknown>)[name];
  }
  return (target as Record<PropertyKey, unknown>)[name];
}
