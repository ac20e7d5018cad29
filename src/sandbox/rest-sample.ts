/**
 * One message in at the REST door, as any program with an HTTPS client would hand it in: a
 * verified certificate, the key in a header field, a JSON body.
 */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import { ownValueOf } from '../platform/records.js'
import { CannotStart } from './cannot-start.js'
import { DOMAIN } from './paths.js'
import { type Endpoint, throwDiskFull } from './sample.js'

/** The id of the email. */
export async function submitByRest(door: Endpoint): Promise<string> {
  const { status, body } = await post(door, {
    from: { name: 'Posthorn', address: `quickstart@${DOMAIN}` },
    to: `you@${DOMAIN}`,
    subject: 'It works over REST',
    text: 'Handed in as JSON, composed, kept in the queue, signed, and delivered to the sink.\n',
    html: '<p>Handed in as <b>JSON</b>, composed, kept in the queue, signed, and delivered to the sink.</p>',
  })
  if (status === 503) throwDiskFull()
  const id = status === 201 ? parseId(body) : null
  if (id === null) throw new CannotStart(`the sample by REST was answered ${status}: ${body}`)
  return id
}

async function post({ listen, ca, key }: Endpoint, email: object): Promise<{ status: number; body: string }> {
  const asked = request({
    ...listen,
    path: '/v1/emails',
    method: 'POST',
    ca,
    servername: `mail.${DOMAIN}`,
    // One request: nothing of it may keep the daemon waiting at the end.
    agent: false,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  })
  asked.end(JSON.stringify(email))
  const answer: IncomingMessage = (await once(asked, 'response'))[0]
  return { status: answer.statusCode ?? 0, body: await text(answer) }
}

function parseId(body: string): string | null {
  const id = ownValueOf(JSON.parse(body), 'id')
  return typeof id === 'string' ? id : null
}
