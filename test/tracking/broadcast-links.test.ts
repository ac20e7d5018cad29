/** Which URLs links of broadcasts lead to. Requests for them: test/journeys/broadcast-clicks. */
import { createSecretKey } from 'node:crypto'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { createClickToken } from '../../src/mail/click-token.js'
import { nameBroadcastLink } from '../../src/tracking/broadcast-links.js'
import { resolveClick } from '../../src/tracking/resolve-click.js'
import { sentBroadcast } from '../helpers/database/broadcast.js'
import { temporaryDatabase } from '../helpers/database/database.js'

const secret = createSecretKey(Buffer.alloc(32, 7))
const LINKS = ['https://shop.example.test/?a=1&b=2', 'https://shop.example.test/#x'] as const

async function createWorld(t: Test) {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const sent = sentBroadcast(read, { workspaceId: 'ws_1', to: ['bob@b.test'], at: 1_000, links: LINKS })
  await commit(sent.writes)
  const emailId = sent.messages[0]?.emailId ?? ''
  const resolve = (url: string | null, token: string | null = null, broadcastId: string | null = null) =>
    resolveClick({ read, secret }, { trackingId: emailId, url, token, broadcastId })
  return { emailId, broadcastId: sent.id, resolve }
}

t.test('links have short names, and those with variables have one together', async (t) => {
  const { emailId, broadcastId, resolve } = await createWorld(t)
  for (const url of LINKS) {
    const expected = { linkId: nameBroadcastLink(url), emailId, url, location: url }
    t.same(resolve(url, null, broadcastId), expected)
    t.same(resolve(url, createClickToken(secret, emailId, url)), expected, 'a token is not looked at')
  }
  t.equal(nameBroadcastLink('x'.repeat(8_000)).length, 43)
  for (const id of [1, 2]) {
    const url = `https://shop.example.test/?id=${id}`
    t.same(resolve(url, createClickToken(secret, emailId, url)), { linkId: 'own', emailId, url, location: url })
    t.equal(resolve(url), null)
  }
  t.equal(resolve(null, createClickToken(secret, emailId, ''), broadcastId), null)
})

t.test('no request leads anywhere else', async (t) => {
  const { emailId, broadcastId, resolve } = await createWorld(t)
  const [first] = LINKS
  const near = fc.tuple(fc.nat(first.length), fc.string({ unit: 'binary', maxLength: 3 })).map(([at, text]) => {
    return `${first.slice(0, at)}${text}${first.slice(at)}`
  })
  const url = fc.oneof(
    near,
    fc.webUrl({ withFragments: true, withQueryParameters: true }),
    fc.string({ unit: 'binary' }),
  )
  const token = fc.oneof(
    fc.constant(null),
    fc.stringMatching(/^[a-z2-7]{26}$/),
    fc.constantFrom(...LINKS, 'https://evil.example/').map((other) => createClickToken(secret, `${emailId}x`, other)),
    url.map((other) => createClickToken(createSecretKey(Buffer.alloc(32, 8)), emailId, other)),
  )
  fc.assert(
    fc.property(url, token, fc.constantFrom(null, broadcastId, 'x'), (given, mac, id) => {
      const target = resolve(given, mac, id)
      const isKnown = LINKS.some((link) => link === given) && id !== 'x'
      if ((target !== null) !== isKnown) throw new Error(JSON.stringify([given, mac, id, target]))
      if (target !== null && target.location !== given) throw new Error(target.location)
    }),
    {
      numRuns: 3_000,
      examples: [
        [first, null, broadcastId],
        [first, null, 'x'],
      ],
    },
  )
  t.pass('the property holds')
})
