/** Which URLs links of broadcasts lead to. Requests for them: test/journeys/broadcast-clicks. */
import { createSecretKey } from 'node:crypto'
import fc from 'fast-check'
import { simpleParser } from 'mailparser'
import t, { type Test } from 'tap'
import { parseAddress } from '../../../src/base/mail/address.js'
import { createClickToken } from '../../../src/base/mail/click-token.js'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import { BroadcastComposer } from '../../../src/outbound/broadcasts/compose-broadcast.js'
import { ContactMessages } from '../../../src/outbound/broadcasts/contact-message.js'
import { nameBroadcastLink } from '../../../src/outbound/tracking/broadcast-links.js'
import { resolveClick } from '../../../src/outbound/tracking/resolve-click.js'
import { buildFramed } from '../../../src/records/messages/frames/message-frame.js'
import { sentBroadcast } from '../../helpers/database/broadcast.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { plainFooter } from '../../helpers/mail/plain-footer.js'

const secret = createSecretKey(Buffer.alloc(32, 7))
const LINKS = ['https://shop.example.test/?a=1&b=2', 'https://shop.example.test/#x'] as const

async function createWorld(t: Test, links: readonly string[] = LINKS) {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const sent = await sentBroadcast(read, { workspaceId: 'ws_1', to: ['bob@b.test', 'ann@b.test'], at: 1_000, links })
  await commit(sent.writes)
  const emailId = sent.messages[0]?.emailId ?? ''
  const resolve = (url: string | null, token: string | null = null, broadcastId: string | null = null) =>
    resolveClick({ read, secret }, { trackingId: emailId, url, token, broadcastId })
  /** A request for a path with its query. */
  const follow = async (path: string): Promise<string | undefined> => {
    const { pathname, searchParams } = new URL(path, 'https://links.test')
    const [url, token, broadcastId] = ['url', 'tid', 'bid'].map((name) => searchParams.get(name))
    const trackingId = pathname.split('/').at(-1) ?? ''
    const request = { trackingId, url: url ?? null, token: token ?? null, broadcastId: broadcastId ?? null }
    return (await resolveClick({ read, secret }, request))?.location
  }
  const other = sent.messages[1]?.emailId ?? ''
  return { database, emailId, other, broadcastId: sent.id, resolve, follow }
}

t.test('the links that a message has lead where its sender meant, and only in that message', async (t) => {
  const base = 'https://links.test'
  const html =
    `<p><a href="${LINKS[0].replace('&', '&amp;')}">a</a> <a href=" https://shop.example.test/größe?q=a b ">b</a> ` +
    '<a href="https://shop.example.test/{{first_name}}?mail={{email}}&amp;x=%20+#{{metadata.x}}">c</a>' +
    '<a href="https://shop.example.test/?user={{email}}">d</a> <a href="{{metadata.home}}">e</a></p>'
  const content = {
    sender: { address: parseAddress('news@a.test'), name: '' },
    replyTo: [],
    subject: 's',
    html,
    text: null,
  }
  const { emailId, other, broadcastId, database, follow } = await createWorld(t, [])
  const composer = new BroadcastComposer('mail.service.test', base, { baseFor: () => base })
  const composed = await composer.compose(content, { broadcastId, audienceId: broadcastId, footer: plainFooter })
  await database.commit(
    composed.links.map((url) => ({
      sql: 'insert into broadcast_links (broadcast_id, url_key, url, workspace_id, created_at) values (?, ?, ?, ?, 1)',
      parameters: [broadcastId, nameBroadcastLink(url), url, 'ws_1'],
    })),
  )
  const metadata = toJson({ x: 'a&b=c', home: 'https://home.example.test/~bob' })
  const contact = { email: parseAddress('bob+x@b.test'), first_name: 'Zoë O’B', last_name: null, metadata }
  const ids = { emailId, recipientId: broadcastId, now: 1_000 }
  const { slots } = new ContactMessages(secret, base).build(composed.frame, contact, ids)
  const mail = await simpleParser(buildFramed(composed.frame, slots))
  const hrefs = [...String(mail.html).matchAll(/href="(https:[^"]*\/track\/click\/[^"]*)"/g)].map(([, href = '']) =>
    href.replaceAll('&amp;', '&'),
  )
  t.equal(hrefs.length, 5)
  const targets = await Promise.all(hrefs.map((href) => follow(href)))
  t.same(targets.slice(0, 2), [LINKS[0], 'https://shop.example.test/gr%C3%B6%C3%9Fe?q=a%20b'])
  t.match(targets.slice(2), [
    /^https:\/\/shop\.example\.test\/Zo%C3%AB[^?]*\?mail=bob(?:\+|%2B)x(?:@|%40)b\.test&x=%20\+#a/,
    /^https:\/\/shop\.example\.test\/\?user=bob/,
    'https://home.example.test/~bob',
  ])
  const ofAnother = await Promise.all(hrefs.map((href) => follow(href.replace(emailId, other))))
  t.same(ofAnother, [...targets.slice(0, 2), undefined, undefined, undefined])
})

t.test('links have short names, and those with variables have one together', async (t) => {
  const { emailId, broadcastId, resolve } = await createWorld(t)
  for (const url of LINKS) {
    const expected = { linkId: nameBroadcastLink(url), emailId, url, location: url }
    t.same(await resolve(url, null, broadcastId), expected)
    t.same(await resolve(url, createClickToken(secret, emailId, url)), expected, 'a token is not looked at')
  }
  t.equal(nameBroadcastLink('x'.repeat(8_000)).length, 43)
  for (const id of [1, 2]) {
    const url = `https://shop.example.test/?id=${id}`
    t.same(await resolve(url, createClickToken(secret, emailId, url)), { linkId: 'own', emailId, url, location: url })
    t.equal(await resolve(url), null)
  }
  t.equal(await resolve(null, createClickToken(secret, emailId, ''), broadcastId), null)
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
  await fc.assert(
    fc.asyncProperty(url, token, fc.constantFrom(null, broadcastId, 'x'), async (given, mac, id) => {
      const target = await resolve(given, mac, id)
      const isKnown = LINKS.some((link) => link === given) && id !== 'x'
      if ((target !== null) !== isKnown) throw new Error(JSON.stringify([given, mac, id, target]))
      if (target !== null && target.location !== given) throw new Error(target.location)
    }),
    {
      examples: [
        [first, null, broadcastId],
        [first, null, 'x'],
      ],
    },
  )
  t.pass('the property holds')
})
