/** Makes texts to copy from the lines of a remedy: a table of the configuration goes with its settings. Pure. */

/** `[dns]`, without the settings that follow, perhaps with a comment. */
const TABLE = /^\[[a-z_.]+\](?: +#.*)?$/
/** `servers = ["192.0.2.53"]`. */
const SETTING = /^[a-z_]+ = /

/** Commands and records are texts of one line. */
export function joinSettings(lines: readonly string[]): readonly string[] {
  const texts: string[] = []
  let isOpen = false
  for (const line of lines) {
    const isPart: boolean = isOpen && SETTING.test(line)
    if (isPart) texts.push(`${texts.pop()}\n${line}`)
    else texts.push(line)
    isOpen = isPart || TABLE.test(line)
  }
  return texts
}
