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

/** `fixed` with further properties that are read each time. It must not be spread: that would read them once. */
export function readEachTime<Fixed extends object, Live extends object>(
  fixed: Fixed,
  live: { readonly [Name in keyof Live]: () => Live[Name] },
): Fixed & Live {
  const getters = Object.entries<() => unknown>(live).map(([name, get]) => [name, { get, enumerable: true }])
  return Object.defineProperties({ ...fixed }, Object.fromEntries(getters)) as Fixed & Live
}
