/** Shows live what became of the first email that was sent after a moment: a sample was used, and here is its outcome. */
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import { sessionApi, unwrap } from '../../api/client.ts'
import type { components } from '../../api/session-schema.d.ts'
import { useLoad } from '../../api/use-load.ts'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { Note, Time } from '../../components/values.tsx'

type FoundEmail = components['schemas']['FoundEmail']

/** Milliseconds between two loads, until the email is settled. */
const PAUSE = 3_000

interface FirstEmail {
  /** Null if none was accepted yet. */
  readonly email: FoundEmail | null
}

export function SampleArrival({ since }: { readonly since: string }): VNode {
  const found = useLoad(() => loadFirstEmail(since), [since], {
    every: ({ email }) => (isSettled(email) ? null : PAUSE),
  })
  return (
    <div role="status">
      <Arrival email={found.data?.email ?? null} />
    </div>
  )
}

function isSettled(email: FoundEmail | null): boolean {
  return email !== null && email.status !== 'queued' && email.status !== 'scheduled'
}

/** The oldest email of the newest ones. */
async function loadFirstEmail(since: string): Promise<FirstEmail> {
  const query = { from: since, limit: 50 }
  const { data } = await unwrap(sessionApi.GET('/ui/api/emails', { params: { query } }))
  return { email: data.at(-1) ?? null }
}

function Arrival({ email }: FirstEmail): VNode {
  if (email === null) {
    return (
      <Note tone="info" title="Waiting for your first email">
        <p>Run one of the samples. This page shows by itself what happens to the email.</p>
      </Note>
    )
  }
  const { id, status, subject, recipients, created_at: at } = email
  const { tone, title } = states[status] ?? { tone: 'bad', title: 'Not delivered' }
  return (
    <Note tone={tone} title={`${title}: ${subject.trim() === '' ? '(no subject)' : subject}`}>
      <p>
        To {allowBreaks(recipients.join(', '))}, accepted <Time at={at} kind="second" />.{' '}
        <Link href={`/emails/${id}`}>What happens to it</Link>
      </p>
    </Note>
  )
}

const states: Partial<Record<FoundEmail['status'], { readonly tone: 'good' | 'info'; readonly title: string }>> = {
  scheduled: { tone: 'info', title: 'Accepted for later' },
  queued: { tone: 'info', title: 'Accepted, and on its way' },
  sent: { tone: 'good', title: 'Passed on to the next server' },
  delivered: { tone: 'good', title: 'Arrived' },
}
