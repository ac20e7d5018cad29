/** Shows why an inbound email is trusted or not: the authentication of its sender, and the parts of its spam score. */
import type { VNode } from 'preact'
import { formatNumber } from '../../components/format.ts'
import { Empty } from '../../components/loaded.tsx'
import { Section } from '../../components/page.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { StatusBadge } from '../../components/values.tsx'
import { type AuthenticationRow, toAuthenticationRows } from './authentication-rows.ts'
import type { EmailPartProps, InboundEmail } from './inbound-email.ts'

type Contribution = InboundEmail['spam_report'][number]

export function AuthenticationResults({ email }: EmailPartProps): VNode {
  const rows = toAuthenticationRows(email.authentication)
  return (
    <Section title="Authentication" intro="The results show whether the message comes from the domains that it names.">
      {rows.length === 0 ? (
        <Empty title="No results">
          <p>The message was stored without a check of its sender.</p>
        </Empty>
      ) : (
        <Table
          caption="Authentication results"
          columns={authenticationColumns}
          rows={rows.map((row, at) => ({ ...row, at }))}
          rowKey={({ at }) => String(at)}
        />
      )}
    </Section>
  )
}

const authenticationColumns: readonly Column<AuthenticationRow>[] = [
  { title: 'Check', show: ({ check }) => <span class="one-line">{check}</span> },
  { title: 'Result', show: ({ result }) => <StatusBadge status={result} tone={toTone(result)} /> },
  { title: 'Checked', show: ({ subject }) => <span class="wide-value">{subject === '' ? '–' : subject}</span> },
  { title: 'Details', show: ({ detail }) => (detail === '' ? '–' : detail) },
]

function toTone(result: string): 'good' | 'warn' | 'bad' | 'neutral' {
  if (result === 'pass') return 'good'
  if (result === 'fail') return 'bad'
  return ['softfail', 'temperror', 'permerror', 'policy'].includes(result) ? 'warn' : 'neutral'
}

export function SpamReasons({ email }: EmailPartProps): VNode {
  const { spam_report: report, spam_score: score } = email
  const sum = score === null ? '' : ` They add up to ${formatNumber(score)}.`
  return (
    <Section title="Spam score" intro={`Each reason adds points, or takes some away.${sum}`}>
      {report.length === 0 ? (
        <Empty title="No rule matches">
          <p>Nothing in this message looks like spam.</p>
        </Empty>
      ) : (
        <Table
          caption="Reasons of the spam score"
          columns={spamColumns}
          rows={report.map((row, at) => ({ ...row, at }))}
          rowKey={({ at }) => String(at)}
        />
      )}
    </Section>
  )
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

const spamColumns: readonly Column<Contribution>[] = [
  { title: 'Reason', show: ({ description }) => capitalize(description) },
  { title: 'Rule', show: ({ name }) => <code>{name}</code> },
  { title: 'Points', kind: 'number', show: ({ score }) => `${score > 0 ? '+' : ''}${formatNumber(score)}` },
]
