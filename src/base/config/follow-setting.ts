/**
 * Builds what is made from a setting again when the setting changes, for rooms that must not build it for each use.
 */

/** Returns what was built, and builds it again once a reload has replaced the setting. */
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
