/**
 * Groups of header-like fields in untrusted text: headers, delivery status, feedback reports.
 *
 * More tolerant than `mail/header-fields`: a line that is no field is skipped, and nothing is refused. Blank lines
 * separate the groups. One pass; the first 5,000 lines are read.
 */
import type { ReportedField, ReportedHeader } from './report.js'

const MAX_LINES = 5_000
const MAX_VALUE = 8_192

const fieldLine = /^([!-9;-~]{1,80})[ \t]{0,80}:/

export function parseFieldGroups(text: string): readonly ReportedHeader[] {
  const groups: ReportedField[][] = [[]]
  for (const line of text.split(/\r?\n/, MAX_LINES)) {
    const group = groups.at(-1) ?? []
    const field = fieldLine.exec(line)
    if (line.trim() === '') {
      if (group.length > 0) groups.push([])
    } else if (field !== null) {
      group.push({
        name: (field[1] ?? '').toLowerCase(),
        value: line.slice(field[0].length).trim().slice(0, MAX_VALUE),
      })
    } else if (/^[ \t]/.test(line) || isLostParameter(group.at(-1), line)) {
      continueField(group, line)
    }
  }
  return groups.filter((group) => group.length > 0)
}

/** The fields up to the first blank line. */
export function parseHeader(text: string): ReportedHeader {
  return parseFieldGroups(text)[0] ?? []
}

export function firstValueOf(fields: ReportedHeader, ...names: readonly string[]): string | null {
  for (const name of names) {
    const found = fields.find((field) => field.name === name)
    if (found !== undefined) return found.value
  }
  return null
}

/** `boundary="x"` at the beginning of a line, after a value that ends with `;`: some programs fold without a blank. */
function isLostParameter(last: ReportedField | undefined, line: string): boolean {
  return last?.value.endsWith(';') === true && /^[a-z][\w-]{0,40}=/i.test(line)
}

function continueField(group: ReportedField[], line: string): void {
  const last = group.pop()
  if (last === undefined) return
  const room = MAX_VALUE - last.value.length
  group.push(room <= 0 ? last : { name: last.name, value: `${last.value} ${line.trim()}`.trim().slice(0, MAX_VALUE) })
}
