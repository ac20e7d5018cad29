/** The fields of a request that say how a file of contacts is read. */
import { z } from 'zod'
import { Refusal } from '../../../base/mail/refusal.js'
import type { TextEncoding } from '../../../base/platform/csv/encoding.js'
import type { CsvDelimiter } from '../../../base/platform/csv/rows.js'
import type { ContactLayout } from '../../../base/storage/tables/content-tables.js'
import { contactFields, isContactField } from '../../../workspaces/audiences/contact-layout.js'
import { encodingField, hintKind } from '../imports/imports.js'

const booleanText = z.enum(['true', 'false'], 'allowed: true, false')

function isTrue(word: 'true' | 'false'): boolean {
  return word === 'true'
}

const delimiters = { comma: ',', semicolon: ';', tab: '\t', pipe: '|' } as const satisfies Record<string, CsvDelimiter>

export const delimiterName = z.enum(['comma', 'semicolon', 'tab', 'pipe'], 'allowed: comma, semicolon, tab, pipe')

export function nameDelimiter(delimiter: CsvDelimiter): z.output<typeof delimiterName> {
  return delimiterName.options.find((name) => delimiters[name] === delimiter) ?? 'comma'
}

/** Columns of a file. */
const MAX_COLUMNS = 200
const MAX_FIELD = 270
const columnsRule =
  `allowed: a JSON array of up to ${MAX_COLUMNS} fields, one for each column of the file: ` +
  `${contactFields.join(', ')}, metadata.KEY, or null for a column that is not imported`

const columns = z.string(columnsRule).transform((text, context): readonly (string | null)[] => {
  const fields = parseFields(text)
  if (fields !== null) return fields
  context.addIssue({ code: 'custom', message: columnsRule })
  return z.NEVER
})

const listOfFields = z.array(z.string().max(MAX_FIELD).refine(isContactField).nullable()).min(1).max(MAX_COLUMNS)

function parseFields(text: string): readonly (string | null)[] | null {
  try {
    return listOfFields.safeParse(JSON.parse(text)).data ?? null
  } catch {
    return null
  }
}

const leaveOutRule = 'allowed: role, disposable, typo, one or more of them with commas between them'

const leaveOut = z
  .string(leaveOutRule)
  .regex(/^(?:role|disposable|typo)(?:,(?:role|disposable|typo)){0,2}$/, leaveOutRule)
  .optional()
  .transform((text) => hintKind.options.filter((kind) => text?.split(',').includes(kind)))
  .meta({
    description:
      'Lines whose address has one of these hints are not imported. Without it, all lines are imported: `role,typo`.',
  })

/** What the user decides about lines, besides how they are read. */
export const choiceFields = {
  resubscribe: booleanText.default('false').transform(isTrue).meta({
    description: 'Whether `true` in the file subscribes contacts again that have unsubscribed. Default false.',
  }),
  leave_out: leaveOut,
}

export const layoutFields = {
  columns: columns.optional().meta({
    description:
      'A JSON array with the field of each column: `["email","first_name",null,"metadata.city"]`. ' +
      'Without it, the names of the columns decide.',
  }),
  header: booleanText.optional().meta({
    description:
      'Whether the first line has the names of the columns. Default true. With false, `columns` is required.',
  }),
  delimiter: delimiterName.optional().meta({
    description: 'What separates the cells. Without it, the first line decides.',
  }),
  encoding: encodingField,
}

interface LayoutQuery {
  readonly columns?: readonly (string | null)[] | undefined
  readonly header?: 'true' | 'false' | undefined
  readonly delimiter?: z.output<typeof delimiterName> | undefined
  readonly encoding?: TextEncoding | undefined
}

interface LooseLayout extends Pick<ContactLayout, 'columns' | 'delimiter'> {
  /** Null if the first line decides. */
  readonly hasHeader: boolean | null
  /** Null if the bytes decide. */
  readonly encoding: TextEncoding | null
}

/** Throws a Refusal if the columns have neither fields nor names. */
export function toLayout(query: LayoutQuery): LooseLayout & Pick<ContactLayout, 'hasHeader'> {
  const hasHeader = query.header !== 'false'
  if (!hasHeader && query.columns === undefined) {
    const rule = 'columns: is required if the file has no line with the names of the columns'
    throw new Refusal('missing-field', rule, { field: 'columns' })
  }
  return { ...toLooseLayout(query), hasHeader }
}

/** The same for a preview, which finds the names by itself. */
export function toLooseLayout({ columns, header, delimiter, encoding }: LayoutQuery): LooseLayout {
  return {
    columns: columns ?? null,
    hasHeader: header === undefined ? null : header === 'true',
    delimiter: delimiter === undefined ? null : delimiters[delimiter],
    encoding: encoding ?? null,
  }
}
