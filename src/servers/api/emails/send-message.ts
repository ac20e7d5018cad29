/** POST /v1/emails with a composed message (`message/rfc822`) as its body. */
import { type Address, tryParseAddress } from '../../../base/mail/address.js'
import { Refusal } from '../../../base/mail/refusal.js'
import type { Answer } from '../http/answer.js'
import { MAX_BODY } from '../http/input/json-body.js'
import { type Call, type Route, route } from '../http/route/route.js'
import { createdEmail } from './created-email.js'
import type { MessageAcceptance } from './message-acceptance.js'

export function sendMessageRoute(messages: MessageAcceptance): Route {
  return route<undefined, Buffer>({
    ...{ method: 'POST', path: '/emails', area: 'send', tag: 'Emails' },
    summary: 'Send a composed message',
    raw: {
      ...{
        types: ['message/rfc822'],
        limit: MAX_BODY,
        takesQuery: true,
        parse: (raw) => ({ body: raw, parts: [raw] }),
      },
      example: 'From: app@example.com\r\nTo: bob@example.com\r\nSubject: Hello\r\n\r\nHello Bob\r\n',
    },
    answers: { 201: { description: 'It is stored, and will be delivered.', schema: createdEmail } },
    refusals: [],
    run: (call) => sendMessage(messages, call),
  })
}

async function sendMessage(messages: MessageAcceptance, call: Call<undefined, Buffer>): Promise<Answer> {
  const { principal, body: raw } = call
  const query = call.search()
  const [from] = readAddresses(query, 'from')
  const to = readAddresses(query, 'to')
  const given = { raw, from, to: to.length === 0 ? undefined : to }
  const id = await messages.accept(call, given)
  return { kind: 'json', status: 201, body: await messages.describe(principal, id), emails: [id] }
}

/** The addresses of a parameter of the query, which may be repeated. */
function readAddresses(query: URLSearchParams, name: string): readonly Address[] {
  // A plus sign that was not encoded is a blank here. No address has a blank.
  return query.getAll(name).map((given) => {
    const address = tryParseAddress(given.replaceAll(' ', '+'))
    if (address !== null) return address
    throw new Refusal('invalid-address', `${name}: is not a mail address`, { field: name, value: given.slice(0, 100) })
  })
}
