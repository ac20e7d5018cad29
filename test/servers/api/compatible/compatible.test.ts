/** Requests of other services' clients become emails, or are refused with the field at fault. */
import t from 'tap'
import type { Refusal } from '../../../../src/base/mail/refusal.js'
import { postmarkEmail } from '../../../../src/servers/api/compatible/postmark.js'
import { SendGridEmails, sendGridMail } from '../../../../src/servers/api/compatible/sendgrid-mail.js'
import { sesEmail } from '../../../../src/servers/api/compatible/ses-email.js'
import type { EmailRequest } from '../../../../src/servers/api/emails/email-request.js'
import { parseInput } from '../../../../src/servers/api/http/input/parse-input.js'
import { catchRefusal } from '../../../helpers/catch-refusal.js'

type Fields = Readonly<Record<string, unknown>>

async function readSendGrid(more: Fields): Promise<EmailRequest | Refusal | undefined> {
  const content = [{ type: 'text/plain', value: 'a line' }]
  const personalizations = [{ to: [{ email: 'bob@b.test' }] }]
  const given = { personalizations, from: { email: 'app@a.test' }, subject: 'hello', content, ...more }
  for await (const email of new SendGridEmails(parseInput(sendGridMail, given))) return email
  return undefined
}

const readPostmark = (more: Fields): EmailRequest =>
  parseInput(postmarkEmail, { From: 'app@a.test', To: 'bob@b.test', Subject: 'hello', TextBody: 'a line', ...more })

function readSes(more: Fields): EmailRequest | null {
  const Simple = { Subject: { Data: 'hello' }, Body: { Text: { Data: 'a line' } }, ...more }
  const Destination = { ToAddresses: ['bob@b.test'] }
  const read = parseInput(sesEmail, { FromEmailAddress: 'app@a.test', Destination, Content: { Simple } })
  return read.kind === 'email' ? read.email : null
}

t.test('an empty list of addresses for answers leaves the single one', async (t) => {
  const [one, other] = [{ email: 'one@a.test' }, { email: 'other@a.test' }]
  const answersTo = async (more: Fields): Promise<unknown> => {
    const email = await readSendGrid(more)
    return email !== undefined && 'reply_to' in email ? email.reply_to?.map(({ address }) => address) : []
  }
  t.same(await answersTo({ reply_to: one, reply_to_list: [] }), ['one@a.test'])
  t.same(await answersTo({ reply_to: one, reply_to_list: [other] }), ['other@a.test'])
  t.same(await answersTo({ reply_to: one }), ['one@a.test'])
  t.same(await answersTo({}), [])
})

t.test('a list has each header field once', async (t) => {
  const pair = (first: string, second: string): Fields => ({
    Headers: [first, second].map((Name, place) => ({ Name, Value: String(place) })),
  })
  const readers = { Headers: readPostmark, 'Content.Simple.Headers': readSes }
  for (const [field, read] of Object.entries(readers)) {
    t.same(read(pair('X-Tag', 'X-Other'))?.headers, { 'X-Tag': '0', 'X-Other': '1' })
    for (const second of ['X-Tag', 'x-tag']) {
      const refusal = await catchRefusal(() => read(pair('X-Tag', second)))
      t.match(refusal, { kind: 'invalid-parameter', message: `${field}.${second}: is given twice` })
    }
  }
  t.same(readPostmark(pair('Received', 'Received')).headers, {}, 'those that are left out may be there twice')
})
