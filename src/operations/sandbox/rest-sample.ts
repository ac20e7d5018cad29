/**
 * Submits a sample message over REST the way an HTTPS client does: a verified certificate, the key in a header field, a
 * JSON body.
 */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import { ownValueOf } from '../../base/platform/records.js'
import { CannotStart } from './cannot-start.js'
import { DOMAIN } from './paths.js'
import { type Endpoint, throwDiskFull } from './sample.js'

/** Returns the id of the email. */
export async function submitByRest(endpoint: Endpoint): Promise<string> {
  const { status, body } = await post(endpoint, {
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
  const clientRequest = request({
    ...listen,
    path: '/v1/emails',
    method: 'POST',
    ca,
    servername: `mail.${DOMAIN}`,
    // No kept connection, for which the stopping daemon would wait.
    agent: false,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  })
  clientRequest.end(JSON.stringify(email))
  const answer: IncomingMessage = (await once(clientRequest, 'response'))[0]
  return { status: answer.statusCode ?? 0, body: await text(answer) }
}

function parseId(body: string): string | null {
  const id = ownValueOf(JSON.parse(body), 'id')
  return typeof id === 'string' ? id : null
}
