// The requests: the same for the full store and the small one, each with ids of its own.
import { randomInt } from 'node:crypto'

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
export function rateQuestions({ contacts }, count) {
  const reading = (title, path) => ({ title, status: 200, requests: (known) => times(count, () => get(path(known))) })
  const posting = (title, path, body) => ({
    ...{ title, status: 201 },
    requests: (known) => times(count, () => ({ method: 'POST', path, body: body(known) })),
  })
  const address = () => {
    made += 1
    return `new${made}@new.test`
  }
  return [
    reading('GET /v1/emails (10 of them)', () => '/v1/emails'),
    reading('GET /v1/emails/:id', ({ emails }) => `/v1/emails/${any(emails)}`),
    posting('POST /v1/emails', '/v1/emails', email),
    reading('GET /v1/suppressions (50 of them)', () => '/v1/suppressions'),
    posting('POST /v1/suppressions', '/v1/suppressions', () => ({ email: address() })),
    ...(contacts.length === 0
      ? []
      : [
          reading('GET /v1/contacts (50 of them)', () => '/v1/contacts'),
          reading('GET /v1/contacts/:id', (known) => `/v1/contacts/${any(known.contacts)}`),
          posting('POST /v1/contacts', '/v1/contacts', ({ audiences }) => ({
            ...{ email: address(), audience_id: any(audiences), metadata: { plan: 'pro' } },
          })),
        ]),
  ]
}

const offsets = (count) => [0, 100, 1000, 10_000, DEEP, 1_000_000].filter((offset) => offset < count)

/** Lists of inbound mail, by filters with many rows, few, and none; each is requested a few times. */
export function inboundQuestions({ inbound }) {
  const asked = [
    'limit=100',
    'from=news@often.test&limit=100',
    'from=nobody@often.test&limit=100',
    'domain=none.test&limit=100',
    'spam_status=suspicious&limit=100',
    'status=failed&limit=100',
    'from=news@often.test&domain=in.test&limit=100',
    'from=news@often.test&domain=in.test&spam_status=spam&limit=100',
    'from=news@often.test&domain=in1.test&limit=100',
    'spam_status=clean&status=processed&domain=in.test&from=nobody@often.test&limit=100',
    `from=news@often.test&offset=${Math.floor(inbound / 2) - 100}&limit=100`,
    `limit=100&offset=${inbound - 100}`,
  ]
  return asked.map((query) => {
    const path = `/v1/inbound?${query}`
    return { title: path, requests: times(DEEP_PAGES, () => get(path)) }
  })
}

export const healthQuestions = (count) => times(count, () => get('/healthz'))

export function pageQuestions({ suppressions, audiences }, counts) {
  const question = (title, path, count = PAGES) => ({ title, requests: times(count, () => get(path())) })
  const atOffsets = (path, count, shown = path) =>
    [...offsets(count), count - 100].map((offset) =>
      question(`${shown}&offset=${offset}`, () => `${path}&offset=${offset}`, offset >= DEEP ? DEEP_PAGES : PAGES),
    )
  const ofAudience = (id) => `/v1/contacts?audience_id=${id}&limit=100`
  const cursor = () => Buffer.from(any(suppressions)).toString('base64url')
  return [
    ...atOffsets('/v1/emails?limit=100', counts.emails),
    question('/v1/emails?page=1&per_page=100', () => '/v1/emails?page=1&per_page=100'),
    ...atOffsets('/v1/emails?status=bounced&limit=100', Math.floor(counts.emails / 20)),
    question('/v1/suppressions?limit=100', () => '/v1/suppressions?limit=100'),
    question('/v1/suppressions?limit=100&cursor=(any)', () => `/v1/suppressions?limit=100&cursor=${cursor()}`),
    question(
      '/v1/suppressions?reason=manual&limit=100&cursor=(any)',
      () => `/v1/suppressions?reason=manual&limit=100&cursor=${cursor()}`,
    ),
    ...(audiences.length === 0
      ? []
      : [
          ...atOffsets('/v1/contacts?limit=100', counts.contacts),
          question('/v1/contacts?page=1&per_page=100', () => '/v1/contacts?page=1&per_page=100'),
          ...atOffsets(ofAudience(audiences[0]), Math.floor(counts.contacts / 10), ofAudience('(one)')),
        ]),
  ]
}
