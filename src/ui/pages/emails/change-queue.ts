/** Holds, releases or retries recipients of an email, and says what has changed. */
import { sessionApi, unwrap } from '../../api/client.ts'
import { notify } from '../../components/notices.tsx'
import type { QueueAct } from './email.ts'

export async function changeQueue(id: string, act: QueueAct, recipientIds: readonly string[]): Promise<void> {
  const { changed } = await unwrap(sendAct(act, id, [...recipientIds]))
  notify(toNews(act, changed.length === 1 ? 'one recipient' : `${changed.length} recipients`))
}

function sendAct(act: QueueAct, id: string, recipientIds: string[]) {
  const request = { params: { path: { id } }, body: { recipient_ids: recipientIds } }
  if (act === 'hold') return sessionApi.POST('/ui/api/emails/{id}/hold', request)
  if (act === 'release') return sessionApi.POST('/ui/api/emails/{id}/release', request)
  return sessionApi.POST('/ui/api/emails/{id}/retry', request)
}

function toNews(act: QueueAct, count: string): string {
  if (act === 'hold') return `Nothing is sent to ${count} until you release the email.`
  if (act === 'release') return `The email to ${count} is released.`
  return `The email to ${count} is tried now.`
}
