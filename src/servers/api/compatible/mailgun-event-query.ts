/**
 * The query for events of Mailgun's clients, and the tokens of its pages. A token has the query and a position, and
 * nothing else: a forged one can only change which events of the workspace are read.
 */
import { z } from 'zod'
import { Refusal } from '../../../base/mail/refusal.js'
import { isRecord } from '../../../base/platform/records.js'
import type { EventType } from '../../../base/storage/tables/email-tables.js'
import { typesOfMailgunEvents } from '../../../workspaces/webhooks/formats/mailgun-event.js'
import { parseJsonBody } from '../http/input/json-body.js'
import { parseInput } from '../http/input/parse-input.js'
import { addressInQuery, wholeNumber } from '../http/input/values.js'

const MAX_LIMIT = 300
const MAX_TEXT = 512
/** Characters. A token has each value of the query once. */
const MAX_TOKEN = 8_192

const text = z.string().max(MAX_TEXT)

/** Seconds since 1970, or a date as mail has it. Epoch milliseconds. */
const time = text
  .transform((given, context): number => {
    const at = /^\d{1,11}(?:\.\d{1,9})?$/.test(given) ? Number(given) * 1_000 : Date.parse(given)
    if (Number.isFinite(at) && at >= 0) return at
    context.addIssue({ code: 'custom', message: 'allowed: seconds since 1970, or Thu, 31 Jan 2030 09:00:00 +0000' })
    return z.NEVER
  })
  .meta({ description: 'Seconds since 1970, or a date.', example: '1896080400' })

export const mailgunEventQuery = z.strictObject({
  event: text.optional().meta({ description: 'Names, joined by ` OR `.', example: 'delivered OR failed' }),
  tags: text.optional().meta({ description: 'Tags, joined by ` OR ` or ` AND `.' }),
  severity: z.enum(['temporary', 'permanent']).optional(),
  recipient: addressInQuery.optional(),
  'message-id': text.optional().meta({ description: 'That of the answer, with or without angle brackets.' }),
  begin: time.optional(),
  end: time.optional(),
  ascending: z.enum(['yes', 'no', 'true', 'false']).optional().meta({ description: '`yes`: the oldest first.' }),
  limit: wholeNumber(1, MAX_LIMIT)
    .default(100)
    .meta({ description: `At most ${MAX_LIMIT}. Default 100.` }),
})

type Given = z.output<typeof mailgunEventQuery>

/** A position among the events: after it, or before it if the page is read backwards. Null is an end of the list. */
interface Position {
  readonly seq: number | null
  readonly isBack: boolean
}

export interface EventPageQuery {
  readonly types: readonly EventType[]
  /** Lists of which an event has all tags of one. Null for any event. */
  readonly tags: readonly (readonly string[])[] | null
  readonly recipient: string | undefined
  readonly messageId: string | undefined
  readonly from: number | undefined
  /** Events at this time are not read. */
  readonly to: number | undefined
  readonly order: 'asc' | 'desc'
  readonly limit: number
  readonly position: Position
}

export const firstPosition: Position = { seq: null, isBack: false }

/** If a beginning is given and no direction, events are read from there on. */
export function toEventQuery(given: Given, position: Position): EventPageQuery {
  const { event, tags, severity, recipient, begin, end, ascending, limit } = given
  const names = event === undefined ? null : splitWords(event.toLowerCase(), / or /)
  const isUp =
    ascending === undefined ? begin !== undefined && begin <= (end ?? begin) : ['yes', 'true'].includes(ascending)
  const isReversed = begin !== undefined && end !== undefined && begin > end
  const [from, to] = isReversed ? [end, begin] : [begin, end]
  return {
    types: typesOfMailgunEvents(names, severity),
    tags: tags === undefined ? null : splitWords(tags, / OR /).map((all) => splitWords(all, / AND /)),
    ...{ recipient, messageId: given['message-id']?.replace(/^<|>$/g, ''), limit, position },
    from,
    to: to === undefined ? undefined : Math.floor(to) + 1,
    order: isUp ? 'asc' : 'desc',
  }
}

function splitWords(given: string, separator: RegExp): readonly string[] {
  return given.split(separator).map((word) => word.trim().replace(/^["'(]|["')]$/g, ''))
}

/** `query` is the query as it came. */
export function encodePage(query: Readonly<Record<string, string>>, { seq, isBack }: Position): string {
  return Buffer.from(JSON.stringify({ query, seq, isBack })).toString('base64url')
}

const token = z.strictObject({
  query: z.record(z.string(), z.string()),
  seq: z.int().min(0).nullable(),
  isBack: z.boolean(),
})

interface Page {
  /** The text as it came. */
  readonly query: Readonly<Record<string, string>>
  readonly page: EventPageQuery
}

/** Throws a Refusal for a text that is no token. */
export function decodePage(text: string): Page {
  const value = text.length > MAX_TOKEN ? null : tryParseJson(Buffer.from(text, 'base64url'))
  const parsed = token.safeParse(value)
  if (!parsed.success) throw new Refusal('invalid-parameter', 'page: allowed: the last part of a URL in "paging"')
  const { query, ...position } = parsed.data
  return { query, page: toEventQuery(parseInput(mailgunEventQuery, query), position) }
}

function tryParseJson(bytes: Buffer): unknown {
  try {
    const value = parseJsonBody(bytes)
    return isRecord(value) ? value : null
  } catch {
    return null
  }
}
