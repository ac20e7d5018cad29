/**
 * A small language for the shapes of answers, as strict as the document: a record has the named fields and no others,
 * and a mismatch is reported with its path.
 *
 *     const contact = record({ id: uuid, email: text, first_name: nullable(text) })
 *     contact(answer, '')   // ['first_name: expected a text, found 7']
 */

/** What is wrong with the value at a path; empty: nothing. */
export type Shape = (value: unknown, at: string) => readonly string[]

type Fields = Readonly<Record<string, Shape>>
type Json = Readonly<Record<string, unknown>>

const optionals = new WeakSet<Shape>()

function shapeWhere(what: string, test: (value: unknown) => boolean): Shape {
  return (value, at) => (test(value) ? [] : [`${at}: expected ${what}, found ${JSON.stringify(value)?.slice(0, 200)}`])
}

function shapeMatching(what: string, form: RegExp): Shape {
  return shapeWhere(what, (value) => typeof value === 'string' && form.test(value))
}

export const text = shapeWhere('a text', (value) => typeof value === 'string')
export const filledText = shapeMatching('a text that is not empty', /\S/)
export const integer = shapeWhere('an integer', Number.isInteger)
export const number = shapeWhere('a number', (value) => typeof value === 'number' && Number.isFinite(value))
export const boolean = shapeWhere('true or false', (value) => typeof value === 'boolean')
export const uuid = shapeMatching('a UUIDv7', /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
export const workspaceId = shapeMatching(
  'a workspace id',
  /^ws_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
)
/** UTC, milliseconds, `Z`. */
export const timestamp = shapeMatching('a timestamp', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
export const anything: Shape = () => []
/** An object whose fields are the client's own. */
export const freeObject = shapeWhere('an object', isObject)

export function equals(...expected: readonly unknown[]): Shape {
  const words = expected.map((one) => JSON.stringify(one))
  return shapeWhere(words.join(' or '), (value) => words.includes(JSON.stringify(value)))
}

export function matches(form: RegExp): Shape {
  return shapeMatching(String(form), form)
}

export function nullable(shape: Shape): Shape {
  return (value, at) => (value === null ? [] : shape(value, at))
}

/** A field that may be missing. */
export function optional(shape: Shape): Shape {
  const inner: Shape = (value, at) => (value === undefined ? [] : shape(value, at))
  optionals.add(inner)
  return inner
}

export function list(item: Shape, { atLeast = 0, exactly }: { atLeast?: number; exactly?: number } = {}): Shape {
  return (value, at) => {
    if (!Array.isArray(value)) return [`${at}: expected a list, found ${JSON.stringify(value)}`]
    const wrong = value.length < atLeast || (exactly !== undefined && value.length !== exactly)
    return [
      ...(wrong ? [`${at}: expected ${exactly ?? `at least ${atLeast}`} of them, found ${value.length}`] : []),
      ...value.flatMap((one, place) => item(one, `${at}[${place}]`)),
    ]
  }
}

/** A list of as many elements as there are shapes, each of its own. */
export function inOrder(...items: readonly Shape[]): Shape {
  const many = list(anything, { exactly: items.length })
  return (value, at) => {
    const wrong = many(value, at)
    return wrong.length > 0
      ? wrong
      : (value as readonly unknown[]).flatMap((one, place) => items[place]?.(one, `${at}[${place}]`) ?? [])
  }
}

/** Fields that any record may have beside the interface's own: clients of Resend read them. */
const fieldsOfResend: ReadonlySet<string> = new Set([
  ...[
    'message',
    'statusCode',
    'object',
    'last_event',
    'scheduled_at',
    'has_more',
    'from',
    'to',
    'cc',
    'bcc',
    'reply_to',
    'message_id',
  ],
  ...['name', 'records', 'capabilities', 'open_tracking', 'click_tracking', 'unsubscribed', 'token', 'deleted'],
  ...['endpoint', 'status', 'segment_id', 'sent_at', 'origin', 'source_id', 'contact'],
])

/** `beyond`: fields of this product that the interface's own table does not name. */
export function record(fields: Fields, beyond: Fields = {}): Shape {
  const all: Fields = { ...fields, ...beyond }
  return (value, at) => {
    if (!isObject(value)) return [`${at}: expected an object, found ${JSON.stringify(value)}`]
    const unknown = Object.keys(value).filter((name) => !Object.hasOwn(all, name) && !fieldsOfResend.has(name))
    return [
      ...unknown.map((name) => `${at}.${name}: the document has no such field`),
      ...Object.entries(all).flatMap(([name, shape]) => field(value, name, shape, at)),
    ]
  }
}

/** Has these fields of these shapes; others are ignored. */
export function hasFields(fields: Fields): Shape {
  return (value, at) =>
    isObject(value)
      ? Object.entries(fields).flatMap(([name, shape]) => field(value, name, shape, at))
      : [`${at}: expected an object, found ${JSON.stringify(value)}`]
}

export const data = (shape: Shape): Shape => record({ data: shape })

/** The page form. */
export function pages(item: Shape): Shape {
  const meta = record({ total: integer, page: integer, page_size: integer, pages: integer })
  return record({ success: equals(true), data: list(item), meta })
}

/** The cursor form. */
export function cursorPage(item: Shape): Shape {
  return record({ data: list(item), has_more: boolean, next_cursor: nullable(filledText) })
}

function field(value: Json, name: string, shape: Shape, at: string): readonly string[] {
  const place = at === '' ? name : `${at}.${name}`
  if (Object.hasOwn(value, name)) return shape(value[name], place)
  return optionals.has(shape) ? [] : [`${place}: is missing`]
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Usage in both shapes: what the interface's document does not name. */
export const inboundBytes = record({ bytes_held: integer, bytes_limit: nullable(integer) })
const smsOfDay = { sms_sent: integer, segments: integer }
export const smsUsage = record({
  ...smsOfDay,
  limit_per_day: integer,
  days: list(record({ date: matches(/^\d{4}-\d\d-\d\d$/), ...smsOfDay })),
})
