/** The state of one record: the result of the last check, and what DNS has now. */
import type { VNode } from 'preact'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { StatusBadge } from '../../components/values.tsx'
import type { ObservedRecord } from './observed-dns.ts'

const observedStates = {
  correct: { status: 'verified', words: 'Correct' },
  other: { status: 'failed', words: 'Another value' },
  missing: { status: 'pending', words: 'Not found' },
  unanswered: { status: 'pending', words: 'DNS does not answer' },
} as const

const checkedStates: Readonly<Record<string, string>> = {
  pending: 'Not checked',
  verified: 'Correct',
  failed: 'Missing or wrong',
}

interface RecordStateProps {
  /** Of the last check. Null for a record that no check looks at. */
  readonly status: string | null
  /** Null until DNS was looked up. */
  readonly found: ObservedRecord | null
}

export function RecordState({ status, found }: RecordStateProps): VNode {
  if (found !== null) {
    const { status: tone, words } = observedStates[found.state]
    return <StatusBadge status={tone}>{words}</StatusBadge>
  }
  if (status === null) return <span class="soft">Optional</span>
  return <StatusBadge status={status}>{checkedStates[status]}</StatusBadge>
}

/** What is there in place of the record. */
export function FoundValue({ found }: Pick<RecordStateProps, 'found'>): VNode | null {
  if (found === null || found.state === 'correct' || found.state === 'missing') return null
  if (found.state === 'unanswered') return <span class="row-note">The name servers did not answer.</span>
  return <span class="row-note row-note-bad">Found: {allowBreaks(found.found.join(', '))}</span>
}
