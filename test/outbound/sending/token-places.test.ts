/** A copy for another recipient has the bytes that composing the message anew would give. */
import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import fc from 'fast-check'
import { simpleParser } from 'mailparser'
import t from 'tap'
import { parseAddress } from '../../../src/base/mail/address.js'
import { createUnsubscribeToken } from '../../../src/base/mail/recipient-token.js'
import { uuidv7 } from '../../../src/base/platform/ids.js'
import { composeMessage } from '../../../src/outbound/sending/compose-message.js'
import type { MessageContent } from '../../../src/outbound/sending/message-content.js'
import { checkCopiedBodies, planCopies } from '../../../src/outbound/sending/personal-copies.js'
import { copySizeOf, findCopyFrame, writeCopy } from '../../../src/outbound/sending/token-places.js'
import { copyToPieces } from '../../../src/records/messages/email/recipient-copies.js'

const secret = createSecretKey(Buffer.alloc(32, 1))
const tokens = Array.from({ length: 20 }, () => createUnsubscribeToken(secret, uuidv7(1_000)))
const [first = '', second = ''] = tokens

const composing = { emailId: '0192aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee', hostname: 'mail.test', now: 0 }
const app = { address: parseAddress('app@a.test'), name: 'Grüße' }
const plain = {
  ...{ from: app, to: [app], cc: [], bcc: [], replyTo: [], subject: 'häuser' },
  ...{ fields: [], attachments: [], inlineImages: [] },
}

type Bodies = (token: string) => Partial<MessageContent> & Pick<MessageContent, 'html' | 'text'>

function compose(bodies: Bodies, token: string): ReturnType<typeof composeMessage> {
  return composeMessage({ ...plain, ...bodies(token) }, composing)
}

/** The encoder may choose by the digits of the token: then the same text is encoded in two ways. */
async function assertCopies(bodies: Bodies): Promise<void> {
  const { raw, bodies: places } = compose(bodies, first)
  const frame = findCopyFrame(raw, places, first)
  assert.ok(frame)
  for (const token of tokens) {
    const copy = writeCopy(raw, frame, token, Buffer.alloc(copySizeOf(raw, frame)))
    const copied = Buffer.concat(copyToPieces(raw, copy))
    const anew = compose(bodies, token)
    if (anew.bodies.every(({ encoding }, place) => encoding === places[place]?.encoding)) {
      assert.equal(copied.toString('latin1'), anew.raw.toString('latin1'))
    } else {
      const [mine, other] = [await simpleParser(copied), await simpleParser(anew.raw)]
      assert.deepEqual([mine.text, mine.html], [other.text, other.html])
    }
  }
}

const link = (token: string): string => `https://posthorn.a.test/v1/unsubscribe/${token}`
const file = { filename: 'a.pdf', content: Buffer.alloc(10_000, 7), contentType: 'application/pdf' }
const image = { cid: 'logo', content: Buffer.alloc(100), contentType: 'image/png', filename: null }

t.test('in every encoding, with files and without', async (t) => {
  const rows: readonly (readonly [name: string, text: string, html: string | null])[] = [
    ['7bit', 'Leave:\n@\nBye.', null],
    ['quoted-printable', `${'Grüße, '.repeat(30)}@ ${'x'.repeat(200)}`, '<p title="a=b">é</p><a href="@">away</a>'],
    ['base64', `${'ж'.repeat(100)}@${'ж'.repeat(100)}`, `${'語'.repeat(500)}<a href="@">語</a>${'語'.repeat(300)}@`],
    ['base64 of long text', `${'a line\n'.repeat(50_000)}@`, `${'<p>line</p>\n'.repeat(30_000)}<a href="@">x</a>`],
    ['html alone', '', '<a href="@">x</a>'],
    ['many places', '@ @ @@@ @', '@'.repeat(50)],
  ]
  for (const [name, text, html] of rows) {
    for (const more of [{}, { attachments: [file], inlineImages: [image] }]) {
      const fill = (body: string, token: string): string => body.replaceAll('@', link(token))
      const fields = (token: string) => [
        { name: 'List-Unsubscribe', value: `<${link(token)}>, <mailto:x+${token}@a.test>` },
      ]
      await assertCopies((token) => ({
        ...more,
        text: fill(text, token),
        html: html === null ? null : fill(html, token),
      }))
      await assertCopies((token) => ({ ...more, fields: fields(token), text: fill(text, token), html: null }))
    }
    t.pass(name)
  }
})

t.test('for any content, wherever the link stands in it', async (t) => {
  const piece = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 100 }),
    fc.string({ maxLength: 200 }),
    fc.constantFrom('@', '=\r\n', '=', '\r\n', ' ', 'ж'.repeat(40), 'x'.repeat(75)),
  )
  const body = fc.array(piece, { maxLength: 12 }).map((parts) => Buffer.from(parts.join('')).toString())
  await fc.assert(
    fc.asyncProperty(body, body, fc.nat(200), fc.boolean(), async (text, html, shift, hasFile) => {
      await assertCopies((token) => ({
        text: `${'y'.repeat(shift)}${text.replaceAll('@', link(token))}${link(token)}`,
        html: html === '' ? null : html.replaceAll('@', link(token)),
        attachments: hasFile ? [file] : [],
      }))
    }),
    { numRuns: 300 },
  )
  t.pass()
})

t.test('a file has no part in it: what it has in common is outside', (t) => {
  const { raw, bodies } = compose((token) => ({ text: token, html: null, attachments: [file] }), first)
  const frame = findCopyFrame(raw, bodies, first)
  assert.ok(frame)
  t.equal(copySizeOf(raw, frame), first.length)
  t.equal(frame.suffix > file.content.length, true)
  t.equal(findCopyFrame(raw, bodies, second), null, 'another token does not occur')
  t.end()
})

t.test('bodies that have copies have at most 1 MB as they are encoded', (t) => {
  const bodiesOf = (bytes: number) =>
    compose((token) => ({ text: 'x'.repeat(bytes) + link(token), html: null }), first).bodies
  checkCopiedBodies(bodiesOf(700_000))
  t.throws(() => checkCopiedBodies(bodiesOf(800_000)), {
    ...{ name: 'Refusal', kind: 'too-large', details: { limit: 1_048_576 } },
  })
  const { raw, bodies } = compose((token) => ({ text: link(token), html: null }), first)
  t.equal(
    planCopies(raw, { bodies, links: { tokenOf: () => first } }, 'one', []),
    null,
    'a single recipient has no copy',
  )
  t.end()
})
