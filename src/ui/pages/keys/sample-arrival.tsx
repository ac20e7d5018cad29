/** Shows live what became of the first email of a new key: a sample was used, and here is its outcome. */
import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
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

interface SampleArrivalProps {
  readonly keyId: string
  /** The time when the key was created. */
  readonly since: string
}

export function SampleArrival({ keyId, since }: SampleArrivalProps): VNode {
  /** A request compares a bounded number of emails. The next one goes on behind them. */
  const compared = useRef<string | undefined>(undefined)
  const load = async (): Promise<FirstEmail> => {
    const { data, next_cursor: next } = await loadOldest(keyId, since, compared.current)
    const [email = null] = data
    if (email === null && next !== null) compared.current = next
    return { email }
  }
  const found = useLoad(load, [keyId, since], {
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

function loadOldest(keyId: string, since: string, cursor: string | undefined) {
  const query = {
    key_id: keyId,
    from: since,
    order: 'oldest',
    limit: 1,
    ...(cursor === undefined ? {} : { cursor }),
  } as const
  return unwrap(sessionApi.GET('/ui/api/emails', { params: { query } }))
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

const states: Partial<
  Record<FoundEmail['status'], { readonly tone: 'good' | 'info' | 'warn'; readonly title: string }>
> = {
  scheduled: { tone: 'info', title: 'Accepted for later' },
  queued: { tone: 'info', title: 'Accepted, and on its way' },
  sent: { tone: 'good', title: 'Passed on to the next server' },
  delivered: { tone: 'good', title: 'Arrived' },
  complained: { tone: 'warn', title: 'Arrived, and reported as spam' },
}
