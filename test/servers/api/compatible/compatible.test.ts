/** Requests of other services' clients become emails, or are refused with the field at fault. */
import t from 'tap'
import type { Refusal } from '../../../../src/base/mail/refusal.js'
import { SendGridEmails, sendGridMail } from '../../../../src/servers/api/compatible/sendgrid-mail.js'
import type { EmailRequest } from '../../../../src/servers/api/emails/email-request.js'
import { parseInput } from '../../../../src/servers/api/http/input/parse-input.js'

type Fields = Readonly<Record<string, unknown>>

async function readSendGrid(more: Fields): Promise<EmailRequest | Refusal | undefined> {
  const content = [{ type: 'text/plain', value: 'a line' }]
  const personalizations = [{ to: [{ email: 'bob@b.test' }] }]
  const given = { personalizations, from: { email: 'app@a.test' }, subject: 'hello', content, ...more }
  for await (const email of new SendGridEmails(parseInput(sendGridMail, given))) return email
  return undefined
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
