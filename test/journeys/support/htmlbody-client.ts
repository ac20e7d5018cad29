/**
 * A program that was written for the other shape of requests: `htmlbody`, recipients as `email_address`, files that
 * are uploaded first and named by `file_cache_key`, under `/api/v1`. It sends, waits until the email is delivered,
 * and prints the answers.
 */
import { setTimeout as pause } from 'node:timers/promises'

const { BASE_URL, API_KEY, RECIPIENT } = process.env
const headers = { Authorization: `Bearer ${API_KEY}` }

async function callApi<T>(path: string, init: RequestInit = {}): Promise<T> {
  const answer = await fetch(`${BASE_URL}/api/v1${path}`, { ...init, headers: { ...headers, ...init.headers } })
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as T
}

async function upload(name: string, content: string, type: string): Promise<string> {
  const form = new FormData()
  form.append('file', new Blob([content], { type }), name)
  const { data } = await callApi<{ readonly data: { readonly file_cache_key: string } }>(
    `/files?name=${encodeURIComponent(name)}`,
    { method: 'POST', body: form },
  )
  return data.file_cache_key
}

const bill = await upload('bill.txt', 'You owe us nothing.', 'text/plain')
const logo = await upload('logo.svg', '<svg xmlns="http://www.w3.org/2000/svg"/>', 'image/svg+xml')
const { id } = await callApi<{ readonly id: string }>('/emails', {
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({
    from: { address: 'app@sender.test', name: 'App' },
    to: [{ email_address: { address: RECIPIENT, name: 'Bob' } }],
    subject: 'Your bill',
    htmlbody: '<p>Your bill <img src="cid:logo"></p>',
    attachments: [{ file_cache_key: bill, name: 'January.txt' }],
    inline_images: [{ file_cache_key: logo, cid: 'logo' }],
  }),
})
const show = (): Promise<{ readonly status: string }> => callApi(`/emails/${id}`)
let email = await show()
for (; email.status === 'queued'; email = await show()) await pause(20)
process.stdout.write(JSON.stringify({ email, list: await callApi('/emails?page=1&per_page=1') }))
