/** Requests that are accepted in parts: what their idempotency key makes of repetitions, crashes and rivals. */
import t from 'tap'
import { parseAddress, parseDomainName } from '../../../../src/base/mail/address.js'
import { Refusal } from '../../../../src/base/mail/refusal.js'
import type { MemoryShares } from '../../../../src/base/platform/memory/shares.js'
import { StorageFault } from '../../../../src/base/storage/db/write.js'
import { EmailCommitter } from '../../../../src/outbound/sending/email-committer.js'
import type { RequestedEmail } from '../../../../src/outbound/sending/email-composer.js'
import type { PreparedEmail } from '../../../../src/outbound/sending/email-preparer.js'
import { type BatchStyle, EmailAcceptance } from '../../../../src/servers/api/emails/email-acceptance.js'
import type { EmailRequest } from '../../../../src/servers/api/emails/email-request.js'
import type { StoredPartsDeps } from '../../../../src/servers/api/emails/stored-parts.js'
import { toErrorBody } from '../../../../src/servers/api/http/error-answer.js'
import { createKeylessPrincipal } from '../../../../src/workspaces/accounts/access/principal.js'
import { EmailCharger } from '../../../../src/workspaces/accounts/limits/quota.js'
import { bulkEmail } from '../../../helpers/database/bulk.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'

const { database } = await temporaryDatabase(t)
const now = Date.UTC(2026, 10, 21, 12)
const from = parseAddress('app@a.test')
const unlimited = { acquire: () => true, release: () => undefined }
let workspaces = 0

interface Composing {
  /** Called before each email is composed, with its subject. */
  before?: (subject: string) => void | Promise<void>
}

/** The place of an email in its request is in the address of its sender. */
function placeOf(address: string): string {
  return address.replace(/@.*/, '')
}

/** The emails of a test's workspace, and requests to send emails there whose subjects are their places. */
function openWorkspace(limit: number | null = null) {
  workspaces += 1
  const workspaceId = `ws_${workspaces}`
  const { read, commit } = database
  const limits = limit === null ? {} : { emails_per_day: limit }
  const charger = new EmailCharger(
    read,
    { find: () => ({ name: 'test', limits }), findOwner: async (_read, id) => id },
    () => 200_000,
  )
  const composing: Composing = {}
  const compose = async (_principal: unknown, { content }: RequestedEmail): Promise<PreparedEmail> => {
    const subject = content.subject ?? ''
    await composing.before?.(subject)
    const enqueued = bulkEmail({ workspaceId, from: `${subject}@a.test`, to: 'bob@b.test', at: now })
    return { enqueued, senderDomain: parseDomainName('a.test'), suppressed: [], copies: null }
  }
  const acceptance = new EmailAcceptance({
    ...{ read, composer: { compose }, hasDiskSpace: () => true, refusalOf: async () => null },
    committer: new EmailCommitter({ read, commit, charger, queue: null }),
    storedParts: { memory: { forOwner: () => unlimited } as unknown as MemoryShares } as StoredPartsDeps,
  })
  const style: BatchStyle<string> = {
    ...{ tracksByDefault: false, strict: false, inParts: true },
    toItem: ({ enqueued }) => placeOf(enqueued.email.from_email),
    toAnswer: (items) => items.map((item) => (item instanceof Refusal ? `refused: ${item.message}` : item)),
  }
  const call = {
    ...{ principal: createKeylessPrincipal(workspaceId), ownKey: null, params: {}, query: undefined, body: undefined },
    ...{ search: () => new URLSearchParams(), isHead: false, remoteAddress: '', now },
  }
  const send = async (
    count: number,
    key: string | undefined,
    {
      fingerprint = 'same',
      wrong = -1,
      ...more
    }: { fingerprint?: string; wrong?: number } & Partial<typeof style> = {},
  ) => {
    const requests = Array.from({ length: count }, (_, place): EmailRequest | Refusal =>
      place === wrong
        ? new Refusal('missing-field', 'to: is required', { errors: [{ field: 'to' }] })
        : ({
            from: { address: from, name: null },
            to: [],
            subject: String(place),
            text: 'a',
          } as unknown as EmailRequest),
    )
    const given = { ...call, fingerprint: () => fingerprint, header: () => key }
    return acceptance.acceptAll(given, requests, { ...style, ...more })
  }
  const subjects = async (): Promise<readonly string[]> =>
    (await read<{ from_email: string }>('select from_email from emails where workspace_id = ?', [workspaceId]))
      .map(({ from_email }) => placeOf(from_email))
      .sort((a, b) => Number(a) - Number(b))
  return { send, composing, subjects }
}

const places = (count: number): readonly string[] => Array.from({ length: count }, (_, place) => String(place))

/** What a client reads of an error. */
async function errorOf(sent: Promise<unknown>): Promise<unknown> {
  return sent.then(
    () => null,
    (error: unknown) => toErrorBody(error, () => undefined).error,
  )
}

t.test('after a crash between two parts, the repetition sends the others, each once', async (t) => {
  const { send, composing, subjects } = openWorkspace()
  composing.before = (subject) => {
    if (subject === '230') throw new Error('the process ends')
  }
  t.match(await errorOf(send(250, 'k', { wrong: 7 })), {
    code: 'internal_server_error',
    message:
      'internal error; 200 of the emails are sent: repeat the same request with the same idempotency key to send the others',
    details: { sent: 200 },
  })
  t.equal((await subjects()).length, 200)
  t.match(await errorOf(send(250, 'k', { fingerprint: 'other' })), { code: 'conflict', message: /another request/ })
  const composed: string[] = []
  composing.before = (subject) => void composed.push(subject)
  const { json, emails } = await send(250, 'k', { wrong: 7 })
  t.same([composed.length, emails.length], [49, 49], 'what is stored is not made again')
  t.same(JSON.parse(json), places(250).with(7, 'refused: to: is required'), 'the answer has the emails of all parts')
  t.same(
    await subjects(),
    places(250).filter((place) => place !== '7'),
  )
  const again = await send(250, 'k', { wrong: 7 })
  t.same([again.json, again.emails], [json, []])
  t.equal((await subjects()).length, 249)
})

t.test('of equal requests at once each email is sent once, and the others learn that one is under way', async (t) => {
  const { send, subjects } = openWorkspace()
  const results = await Promise.all(Array.from({ length: 5 }, () => errorOf(send(250, 'k'))))
  t.same(await subjects(), places(250))
  t.equal(results.filter((result) => result === null).length, 1)
  for (const result of results)
    if (result !== null) t.match(result, { code: 'conflict', message: /is under way: repeat/ })
  t.same(JSON.parse((await send(250, 'k')).json), places(250))
})

t.test('a repetition beside a request that is between two parts doubles nothing', async (t) => {
  const { send, composing, subjects } = openWorkspace()
  const reached = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  composing.before = async (subject) => {
    if (subject !== '150') return
    reached.resolve()
    await goOn.promise
  }
  const first = errorOf(send(250, 'k'))
  await reached.promise
  composing.before = () => undefined
  const second = await send(250, 'k')
  goOn.resolve()
  t.equal(await first, null, 'it gets the answer of the one that went on')
  t.same([JSON.parse(second.json), await subjects()], [places(250), places(250)])
})

t.test('exactly a part is one commit, and its equal requests get one answer', async (t) => {
  const { send, subjects } = openWorkspace()
  const results = await Promise.all(Array.from({ length: 5 }, () => send(100, 'k')))
  t.equal(new Set(results.map(({ json }) => json)).size, 1)
  t.same(await subjects(), places(100))
})

t.test('an error of a later part says how many emails are sent', async (t) => {
  for (const [key, cure] of [
    [undefined, 'send the others alone'],
    ['k', 'repeat the same request with the same idempotency key to send the others'],
  ] as const) {
    for (const [error, code, message] of [
      [new Refusal('unavailable', 'try later', { retry_after: 1 }), 'service_unavailable', 'try later'],
      [
        new StorageFault('SQLITE_FULL', 'full'),
        'service_unavailable',
        'the service cannot store anything now, try again later',
      ],
    ] as const) {
      const { send, composing } = openWorkspace()
      composing.before = (subject) => {
        if (subject === '120') throw error
      }
      t.match(await errorOf(send(250, key)), {
        code,
        message: `${message}; 100 of the emails are sent: ${cure}`,
        details: { sent: 100 },
      })
    }
  }
  const { send, composing, subjects } = openWorkspace()
  t.match(await errorOf(send(250, 'k', { wrong: 120, strict: true })), {
    message: /^email 120: to: is required; 100 of the emails are sent/,
    details: { index: 120, sent: 100, errors: [{ field: 'to' }] },
  })
  composing.before = (subject) => {
    if (subject === '50') throw new Refusal('missing-field', 'to: is required')
  }
  t.match(await errorOf(send(250, 'l', { strict: true })), { message: 'email 50: to: is required; nothing was sent' })
  t.equal((await subjects()).length, 100)
})

t.test('a quota that ends in a later part is a quota, also with a key', async (t) => {
  const { send, subjects } = openWorkspace(150)
  for (let turn = 1; turn <= 2; turn += 1) {
    t.match(await errorOf(send(250, 'k')), { code: 'insufficient_quota', details: { sent: 100 } })
    t.equal((await subjects()).length, 100)
  }
})

t.test('the emails of a request that goes on may depend on the answer for its first one', async (t) => {
  const { send, composing } = openWorkspace()
  composing.before = (subject) => {
    if (subject === '120') throw new Error('the process ends')
  }
  await errorOf(send(150, 'k'))
  composing.before = () => undefined
  const asked: string[] = []
  const listAgain = (first: string) => {
    asked.push(first)
    return Array.from({ length: 150 }, () => new Refusal('missing-field', 'again'))
  }
  const { json } = await send(150, 'k', { listAgain })
  t.same([asked, JSON.parse(json).slice(98, 102)], [['0'], ['98', '99', 'refused: again', 'refused: again']])
})
