/**
 * DNS records to publish as lines: for people, or in the form of a zone file (RFC 1035 section 5.1).
 *
 * Both have a group for each provider, required records before optional ones. In the zone file the optional records are
 * comments: imported unread, they could move the mail of a domain.
 */
import { formatForDisplay } from '../../../base/mail/address.js'
import type { MissingRecord } from '../../../workspaces/domains/missing-records.js'
import type { PublishedRecord } from '../../../workspaces/domains/zone/publication.js'
import { formatPlainLine } from '../../../workspaces/domains/zone/zone-file.js'
import { type OptionValues, textOption, UsageError } from './command.js'

const formats = ['text', 'zone', 'json'] as const
export type RecordFormat = (typeof formats)[number]

/** That of `--format`, or `text`. With `--json` it is `json`. */
export function chooseFormat(options: OptionValues): RecordFormat {
  const given = textOption(options, 'format')
  const format = formats.find((known) => known === given)
  if (given !== undefined && format === undefined) {
    throw new UsageError(`--format: found "${given}", allowed: ${formats.join(', ')}`)
  }
  if (options['json'] !== true) return format ?? 'text'
  if (format !== undefined && format !== 'json')
    throw new UsageError(`--json and --format ${format} do not go together`)
  return 'json'
}

/** The lines of a zone file with these records alone. */
export function formatZoneFile(records: readonly PublishedRecord[]): string[] {
  return groupRecords(records).flatMap(({ setBy, required, optional }) => [
    `; ${setBy}`,
    ...required.map(formatPlainLine),
    ...optional.flatMap((record, at) => [
      ...(optional[at - 1]?.purpose === record.purpose ? [] : [`; optional: ${record.purpose}`]),
      `; ${formatPlainLine(record)}`,
    ]),
  ])
}

/** What is known of a record, such as `verified`. Empty if nothing is. */
type StateOf = (record: PublishedRecord) => string

/** The required records first, then the optional ones, each below a comment that says what it gives. */
export function formatForPeople(records: readonly PublishedRecord[], stateOf: StateOf = () => ''): string[] {
  const parts = [
    { head: 'Required', chosen: records.filter(({ required }) => required) },
    { head: 'Optional', chosen: records.filter(({ required }) => !required) },
  ]
  return parts.flatMap(({ head, chosen }) =>
    groupRecords(chosen).flatMap(({ setBy, required, optional }) => [
      `${head}, at the ${setBy}:`,
      ...formatWithPurposes([...required, ...optional], stateOf),
      '',
    ]),
  )
}

/** One purpose may need several records in a row. */
function formatWithPurposes(records: readonly PublishedRecord[], stateOf: StateOf): string[] {
  return records.flatMap((record, at) => {
    const state = stateOf(record)
    return [
      ...(records[at - 1]?.purpose === record.purpose ? [] : [`  ; ${record.purpose}`]),
      `  ${describeRecord(record)}${state === '' ? '' : `  (${state})`}`,
    ]
  })
}

/** Without the time to live, and with texts in one piece, for the forms of providers. */
function describeRecord(record: PublishedRecord): string {
  const { name, type, value } = record
  return type === 'TXT' ? `${name}. TXT "${value}"` : formatPlainLine(record).replace(/ \d+ IN /, ' ')
}

interface RecordGroup {
  readonly setBy: string
  readonly required: PublishedRecord[]
  readonly optional: PublishedRecord[]
}

function groupRecords(records: readonly PublishedRecord[]): readonly RecordGroup[] {
  const groups = new Map<string, RecordGroup>()
  for (const record of records) {
    const group = groups.get(record.set_by) ?? { setBy: record.set_by, required: [], optional: [] }
    groups.set(record.set_by, group)
    group[record.required ? 'required' : 'optional'].push(record)
  }
  return [...groups.values()]
}

/** The list above has the value of a record that is missing. */
export function formatMissing({
  record: { name, type, value, set_by: setBy },
  unanswered,
  found,
}: MissingRecord): string {
  const wrong = found === null ? '' : `  wrong: found "${found}", wanted "${formatForDisplay(value)}"`
  return `  ${name}. ${type}${wrong}  (${setBy}${unanswered ? '; DNS gave no answer' : ''})`
}
