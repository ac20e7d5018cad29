/** What is built from a setting, for rooms that must not build it for each use. */

/** Returns what was built, and builds it anew once a reload has replaced the setting. */
export function followSetting<Setting, Built>(read: () => Setting, build: (setting: Setting) => Built): () => Built {
  let setting = read()
  let built = build(setting)
  return () => {
    const now = read()
    if (now !== setting) {
      setting = now
      built = build(now)
    }
    return built
  }
}

/** A copy of an object with it would hold the values of the moment, so that no reload reaches what was given the copy. */
const refuseCopies = {
  [Symbol('copied')]: {
    enumerable: true,
    get: (): never => {
      throw new Error(
        'an object whose settings are read each time must not be spread: hand on a function, or the object',
      )
    },
  },
}

type Getter = readonly [name: string, get: () => unknown]

/** Adds the getters to the object. To spread it throws: that would read each of them once. */
export function addGetters<Target>(target: Target, getters: readonly Getter[]): Target {
  const properties = getters.map(([name, get]) => [name, { get, enumerable: true }])
  return Object.defineProperties(target, { ...Object.fromEntries(properties), ...refuseCopies })
}

/** `fixed` with further properties that are read each time. */
export function readEachTime<Fixed extends object, Live extends object>(
  fixed: Fixed,
  live: { readonly [Name in keyof Live]: () => Live[Name] },
): Fixed & Live {
  return addGetters({ ...fixed }, Object.entries<() => unknown>(live)) as Fixed & Live
}
