/** Shows what happened to each recipient, attempt by attempt, what comes next, and what members may do about it. */
import type { ComponentChildren, VNode } from 'preact'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { Button } from '../../components/button.tsx'
import { formatNumber } from '../../components/format.ts'
import { Section } from '../../components/page.tsx'
import { StatusBadge, Time } from '../../components/values.tsx'
import { changeQueue } from './change-queue.ts'
import type { EmailPartProps, EmailStory, QueueAct, RecipientStory } from './email.ts'

type Attempt = RecipientStory['attempts'][number]

export function RecipientStories({ email, onChanged }: EmailPartProps): VNode {
  return (
    <>
      {email.recipients.map((recipient) => (
        <Section
          key={recipient.id}
          title={recipient.email}
          actions={<RecipientActs emailId={email.id} recipient={recipient} onChanged={onChanged} />}
        >
          <Timeline email={email} recipient={recipient} />
        </Section>
      ))}
    </>
  )
}

const actNames: Readonly<Record<QueueAct, string>> = { hold: 'Hold', release: 'Release', retry: 'Retry now' }

interface RecipientActsProps {
  readonly emailId: string
  readonly recipient: RecipientStory
  readonly onChanged: () => void
}

function RecipientActs({ emailId, recipient: { id, email, status, can }, onChanged }: RecipientActsProps): VNode {
  return (
    <>
      <StatusBadge status={status} />
      {can.map((act) => (
        <Button
          key={act}
          small
          label={`${actNames[act]}: ${email}`}
          onClick={() => changeQueue(emailId, act, [id]).finally(onChanged)}
        >
          {actNames[act]}
        </Button>
      ))}
    </>
  )
}

function Timeline({ email, recipient }: { readonly email: EmailStory; readonly recipient: RecipientStory }): VNode {
  const { attempts, later, next, why, last_response: response, status } = recipient
  return (
    <ol class="timeline">
      <Step tone="neutral" title="Accepted" at={email.created_at}>
        {status === 'suppressed' ? <p>The address is on the suppression list, so nothing is sent to it.</p> : null}
      </Step>
      {attempts.map((attempt) => (
        <AttemptStep key={attempt.number} attempt={attempt} />
      ))}
      {later === null ? null : (
        <Step tone="bad" title={toSentence(later)}>
          {why === null ? null : <p>{why}</p>}
        </Step>
      )}
      {attempts.length === 0 && response !== null ? (
        <Step tone="bad" title={response}>
          {why === null ? null : <p>{why}</p>}
        </Step>
      ) : null}
      {next === null ? null : (
        <Step
          tone="next"
          title={
            <>
              {toSentence(next.before)}
              {next.at === null ? null : <Time at={next.at} kind="second" />}
              {next.after}
            </>
          }
        >
          {recipient.held_by === 'operator' ? (
            <p>The operator of this service holds it, and decides when it is sent.</p>
          ) : null}
        </Step>
      )}
    </ol>
  )
}

const tones: Readonly<Record<Attempt['outcome'], Tone>> = {
  delivered: 'good',
  sent: 'good',
  deferred: 'warn',
  bounced: 'bad',
  failed: 'bad',
}

function AttemptStep({ attempt }: { readonly attempt: Attempt }): VNode {
  const { number, at, outcome, mx, tls, response, why, duration_ms: duration } = attempt
  const way = mx === null ? 'No host was reached' : `${mx}, ${tls === null ? 'without TLS' : `over ${tls}`}`
  return (
    <Step
      tone={tones[outcome]}
      title={
        <>
          Attempt {number} <StatusBadge status={outcome} />
        </>
      }
      at={at}
    >
      {why === null ? null : <p>{why}</p>}
      <p class="timeline-reply">
        <code>{response}</code>
      </p>
      <p class="row-note">
        {allowBreaks(way)}, {formatNumber(duration)} ms
      </p>
    </Step>
  )
}

type Tone = 'good' | 'warn' | 'bad' | 'neutral' | 'next'

interface StepProps {
  readonly tone: Tone
  readonly title: ComponentChildren
  readonly at?: string
  readonly children: ComponentChildren
}

function Step({ tone, title, at, children }: StepProps): VNode {
  return (
    <li class={`timeline-step timeline-${tone}`}>
      <p class="timeline-title">
        <span>{title}</span>
        {at === undefined ? null : <Time at={at} kind="second" />}
      </p>
      {children}
    </li>
  )
}

function toSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`
}
