/** Shows what happened to each recipient, step by step, what comes next, and what members may do about it. */
import type { ComponentChildren, VNode } from 'preact'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { Button, ButtonLink } from '../../components/button.tsx'
import { formatNumber } from '../../components/format.ts'
import { MailState } from '../../components/mail-state.tsx'
import { Section } from '../../components/page.tsx'
import { Time } from '../../components/values.tsx'
import { changeQueue } from './change-queue.ts'
import type { EmailPartProps, QueueAct, RecipientStory } from './email.ts'
import { toSendAgain } from './first-values.ts'
import { SuppressionLinks } from './suppression-links.tsx'

type StoryStep = RecipientStory['steps'][number]
type Attempt = NonNullable<StoryStep['attempt']>

export function RecipientStories({ email, onChanged }: EmailPartProps): VNode {
  return (
    <>
      {email.recipients.map((recipient) => (
        <Section
          key={recipient.id}
          title={recipient.email}
          actions={<RecipientActs emailId={email.id} recipient={recipient} onChanged={onChanged} />}
        >
          <Timeline recipient={recipient} onChanged={onChanged} />
          {maySendAgain(recipient) ? (
            <p>
              <ButtonLink small href={toSendAgain(email.id, recipient.email)}>
                Send this email again
              </ButtonLink>
            </p>
          ) : null}
        </Section>
      ))}
    </>
  )
}

/** The address was taken off the suppression list, so what it did not get can be sent. */
function maySendAgain({ status, steps }: RecipientStory): boolean {
  const isLost = status === 'suppressed' || status === 'bounced' || status === 'failed'
  return isLost && steps.some(({ kind }) => kind === 'unsuppressed')
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
      <MailState state={status} />
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

interface TimelineProps {
  readonly recipient: RecipientStory
  readonly onChanged: () => void
}

function Timeline({ recipient, onChanged }: TimelineProps): VNode {
  const { steps, next, held_by: heldBy } = recipient
  return (
    <ol class="timeline">
      {steps.map((step, place) => (
        <Step key={`${place} ${step.kind}`} tone={toneOf(step)} title={step.title} at={step.at}>
          <StepDetails step={step} recipient={recipient} onChanged={onChanged} />
        </Step>
      ))}
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
          at={null}
        >
          {heldBy === 'operator' ? <p>The operator of this service holds it, and decides when it is sent.</p> : null}
        </Step>
      )}
    </ol>
  )
}

function StepDetails({ step, recipient, onChanged }: TimelineProps & { readonly step: StoryStep }): VNode {
  return (
    <>
      {step.sentences.length === 0 ? null : <p>{allowBreaks(step.sentences.join(' '))}</p>}
      {step.attempt === null ? null : <AttemptDetails attempt={step.attempt} />}
      {step.suppression_id === null ? null : (
        <SuppressionLinks id={step.suppression_id} address={recipient.email} onRemoved={onChanged} />
      )}
    </>
  )
}

function AttemptDetails({
  attempt: { mx, tls, response, duration_ms: duration },
}: {
  readonly attempt: Attempt
}): VNode {
  const way = mx === null ? 'No host was reached' : `${mx}, ${tls === null ? 'not encrypted' : `encrypted with ${tls}`}`
  return (
    <>
      <p class="timeline-reply">
        <code>{response}</code>
      </p>
      <p class="row-note">
        {allowBreaks(way)}, {`${formatNumber(duration)}\u00a0ms`}
      </p>
    </>
  )
}

type Tone = 'good' | 'warn' | 'bad' | 'neutral' | 'next'

const tonesOfAttempts: Readonly<Record<Attempt['outcome'], Tone>> = {
  delivered: 'good',
  sent: 'good',
  deferred: 'warn',
  bounced: 'bad',
  failed: 'bad',
}

const tonesOfSteps: Readonly<Record<StoryStep['kind'], Tone>> = {
  accepted: 'neutral',
  'not-sent': 'bad',
  attempt: 'neutral',
  report: 'bad',
  ended: 'bad',
  opened: 'good',
  clicked: 'good',
  complained: 'bad',
  unsubscribed: 'warn',
  suppressed: 'warn',
  unsuppressed: 'neutral',
}

function toneOf({ kind, attempt }: StoryStep): Tone {
  return attempt === null ? tonesOfSteps[kind] : tonesOfAttempts[attempt.outcome]
}

interface StepProps {
  readonly tone: Tone
  readonly title: ComponentChildren
  readonly at: string | null
  readonly children: ComponentChildren
}

function Step({ tone, title, at, children }: StepProps): VNode {
  return (
    <li class={`timeline-step timeline-${tone}`}>
      <p class="timeline-title">
        <span>{title}</span>
        {at === null ? null : <Time at={at} kind="second" />}
      </p>
      {children}
    </li>
  )
}

function toSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`
}
