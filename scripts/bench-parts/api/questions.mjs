// The requests: the same for the full store and the small one, each with ids of its own.
import { randomInt } from 'node:crypto'
import { AUDIENCES } from '../../lib/store/values.mjs'

const PAGES = 200
/** Offsets beyond manual paging; each of them walks over the rows before it. */
const DEEP_PAGES = 20
const DEEP = 100_000

let made = 0
const any = (list) => list[randomInt(list.length)]
const get = (path) => ({ method: 'GET', path })
const times = (count, one) => Array.from({ length: count }, one)

const email = () => ({
  ...{ from: 'App <app@bench.test>', to: ['someone@sink.test'], subject: 'A message' },
  text: 'Some words of a message that an application sends. '.repeat(20),
})

/** `requests` makes a new list at each call, because a request with POST cannot be repeated. */
export function rateQuestions(count) {
  const reading = (title, path) => ({ title, status: 200, requests: (known) => times(count, () => get(path(known))) })
  const posting = (path, body) => ({
    ...{ title: `POST ${path}`, status: 201 },
    requests: () => times(count, () => ({ method: 'POST', path, body: body() })),
  })
  const address = () => {
    made += 1
    return `new${made}@new.test`
  }
  return [
    reading('GET /v1/emails (10 of them)', () => '/v1/emails'),
    reading('GET /v1/emails/:id', ({ emails }) => `/v1/emails/${any(emails)}`),
    posting('/v1/emails', email),
    reading('GET /v1/suppressions (50 of them)', () => '/v1/suppressions'),
    posting('/v1/suppressions', () => ({ email: address() })),
    reading('GET /v1/contacts (50 of them)', () => '/v1/contacts'),
    reading('GET /v1/contacts/:id', ({ contacts }) => `/v1/contacts/${any(contacts)}`),
    posting('/v1/contacts', () => ({ email: address(), audience_id: AUDIENCES[1], metadata: { plan: 'pro' } })),
  ]
}

export const healthQuestions = (count) => times(count, () => get('/healthz'))

export function pageQuestions({ suppressions, counts }) {
  const question = (path, count = PAGES) => ({
    title: path.replace(AUDIENCES[0], '(one)'),
    requests: times(count, () => get(path)),
  })
  const atOffsets = (path, count) =>
    [0, 100, 1000, 10_000, DEEP, 1_000_000, Math.max(0, count - 100)]
      .filter((offset) => offset < count)
      .map((offset) => question(`${path}&offset=${offset}`, offset >= DEEP ? DEEP_PAGES : PAGES))
  const atCursors = (path) => ({
    title: `${path}&cursor=(any)`,
    requests: times(PAGES, () => get(`${path}&cursor=${Buffer.from(any(suppressions)).toString('base64url')}`)),
  })
  return [
    ...atOffsets('/v1/emails?limit=100', counts.emails),
    question('/v1/emails?page=1&per_page=100'),
    ...atOffsets('/v1/emails?status=bounced&limit=100', counts.bounced),
    question('/v1/suppressions?limit=100'),
    atCursors('/v1/suppressions?limit=100'),
    atCursors('/v1/suppressions?reason=manual&limit=100'),
    ...atOffsets('/v1/contacts?limit=100', counts.contacts),
    question('/v1/contacts?page=1&per_page=100'),
    ...atOffsets(`/v1/contacts?audience_id=${AUDIENCES[0]}&limit=100`, counts['in an audience']),
    ...inboundPages(question, counts.inbound),
    ...eventPages(question),
    question('/v1/metrics?days=90'),
    question('/v1/metrics?days=90&group_by=hour&tz=Europe/Berlin'),
    question('/v1/metrics?days=90&domain=a.test&tag=campaign:spring&group_by=status'),
    question('/v1/metrics/links?days=90'),
    question('/v1/metrics/links?days=90&offset=400'),
  ]
}

/** Lists by filters that match many rows, few, and none. */
function inboundPages(question, count) {
  const filters = [
    `offset=${Math.max(0, count - 100)}`,
    ...['from=friend0@elsewhere0.test', 'from=nobody@elsewhere0.test', 'domain=none.test', 'spam_status=suspicious'],
    ...['status=failed', 'domain=a.test&spam_status=spam', 'spam_status=clean&from=nobody@elsewhere0.test'],
  ]
  return filters.map((filter) => question(`/v1/inbound?limit=100&${filter}`, DEEP_PAGES))
}

/** The log of events: types that are common, rare and absent, one recipient, and a day in its middle. */
function eventPages(question) {
  const at = (daysAgo) => encodeURIComponent(new Date(Date.now() - daysAgo * 86_400_000).toISOString())
  return [
    '/v1/events?limit=50',
    '/v1/events?type=email.delivered&limit=50',
    '/v1/events?type=email.complained&limit=50',
    '/v1/events?type=email.failed&limit=50',
    '/v1/events?recipient=ada40@example40.test&limit=50',
    `/v1/events?from=${at(41)}&to=${at(40)}&limit=50`,
    `/v1/events?from=${at(41)}&to=${at(40)}&type=email.complained&limit=50`,
  ].map((path) => question(path))
}
