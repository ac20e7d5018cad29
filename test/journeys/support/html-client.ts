/**
 * A program that was written for one shape of requests: `html`, `to` as a list, `tags`, under `/v1`. It sends, waits
 * until the email is delivered, and prints the answers.
 */
import { setTimeout as pause } from 'node:timers/promises'

const { BASE_URL, API_KEY, RECIPIENT } = process.env

interface ApiAnswer {
  readonly id: string
  readonly status: string
}

async function call(method: string, path: string, body?: object): Promise<ApiAnswer> {
  const answer = await fetch(`${BASE_URL}/v1${path}`, {
    method,
    headers: { Authorization: `Bearer ${API_KEY}`, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as ApiAnswer
}

const { id } = await call('POST', '/emails', {
  from: 'App <app@sender.test>',
  to: [RECIPIENT],
  subject: 'Welcome',
  html: '<h1>Welcome</h1>',
  tags: [{ name: 'campaign', value: 'welcome' }],
})
let email = await call('GET', `/emails/${id}`)
for (; email.status === 'queued'; email = await call('GET', `/emails/${id}`)) await pause(20)
process.stdout.write(JSON.stringify({ email, list: await call('GET', '/emails?limit=1&offset=0') }))
