/** Leads a new workspace from its first domain to its first delivered email. It goes away when all steps are done. */
import type { ComponentChildren, VNode } from 'preact'
import { useState } from 'preact/hooks'
import { api, sessionApi, unwrap } from '../../api/client.ts'
import type { components } from '../../api/session-schema.d.ts'
import { mayAdminister } from '../../api/session-state.ts'
import { Button, ButtonLink } from '../../components/button.tsx'
import { MailState } from '../../components/mail-state.tsx'
import { Section } from '../../components/page.tsx'
import { Copy, Note } from '../../components/values.tsx'
import { SendingSamples } from '../keys/sending-samples.tsx'
import { DomainCheck } from './domain-check.tsx'

export type FirstStepsState = components['schemas']['FirstSteps']

interface FirstStepsProps {
  readonly steps: FirstStepsState
  readonly onChanged: () => void
  readonly onHide: () => void
}

export function FirstSteps({ steps, onChanged, onHide }: FirstStepsProps): VNode {
  const [apiKey, setApiKey] = useState<string | null>(null)
  const makeKey = async (): Promise<void> => {
    setApiKey(await createFirstKey())
    onChanged()
  }
  const list = listSteps({ steps, apiKey, makeKey, onChanged })
  const next = list.findIndex(({ isDone }) => !isDone)
  const done = list.filter(({ isDone }) => isDone).length
  return (
    <Section
      title="First steps"
      intro={`${done} of ${list.length} are done. The list goes away when all are.`}
      actions={
        <Button small onClick={onHide}>
          Hide the list
        </Button>
      }
    >
      <ol class="steps">
        {list.map((step, at) => (
          <StepItem key={step.title} step={step} number={at + 1} isNext={at === next} />
        ))}
      </ol>
    </Section>
  )
}

interface Step {
  readonly title: string
  readonly isDone: boolean
  /** What is true now, in a sentence. */
  readonly state: ComponentChildren
  /** How to do it. The list shows it for the next step, and with `isOpen` always. */
  readonly body: ComponentChildren
  readonly isOpen?: boolean
  /** The list shows it until the step is done, and with more weight if the step is the next one. */
  readonly act?: (isNext: boolean) => ComponentChildren
  /** What the list shows when the step is done: where the thing is. */
  readonly again?: ComponentChildren
}

function StepItem({ step, number, isNext }: { readonly step: Step; number: number; isNext: boolean }): VNode {
  const { title, isDone, state, body, act, again, isOpen = false } = step
  return (
    <li
      class={`step${isDone ? ' step-done' : ''}${isNext ? ' step-next' : ''}`}
      aria-current={isNext ? 'step' : undefined}
    >
      <span class="step-sign" aria-hidden="true">
        {isDone ? '✓' : number}
      </span>
      <div class="step-content">
        <div class="step-head">
          <div>
            <h3>
              {title}
              <span class="visually-hidden">{isDone ? ' (done)' : ' (to do)'}</span>
            </h3>
            <p class="soft">{state}</p>
          </div>
          {isDone ? again : act?.(isNext)}
        </div>
        {isNext || isOpen ? body : null}
      </div>
    </li>
  )
}

interface Known {
  readonly steps: FirstStepsState
  readonly apiKey: string | null
  readonly makeKey: () => Promise<void>
  readonly onChanged: () => void
}

function listSteps(known: Known): readonly Step[] {
  return [
    describeDomain(known),
    describeKey(known),
    describeSending(known),
    describeArrival(known),
    describeWebhook(known),
    describeInvitation(known),
  ]
}

const onlyAdmins = (): string => 'An owner or admin of the workspace does this.'

function describeDomain({ steps: { domain }, onChanged }: Known): Step {
  const title = 'Add the domain from which you send'
  if (domain === null) {
    return {
      title,
      isDone: false,
      state: 'Posthorn shows the DNS records that prove that the domain is yours.',
      body: null,
      act: mayAdminister.value ? linkTo('/domains/new', 'Add your domain') : onlyAdmins,
    }
  }
  const isDone = domain.status === 'verified'
  return {
    title,
    isDone,
    state: isDone ? `${domain.domain} is verified.` : `${domain.domain} waits for its DNS records.`,
    body: isDone ? null : <DomainCheck id={domain.id} onVerified={onChanged} />,
    again: linkAgain(`/domains/${domain.id}`, 'Show the domain'),
  }
}

function describeKey({ steps: { has_key: hasKey }, apiKey, makeKey }: Known): Step {
  const title = 'Make a key for your program'
  const act = (isNext: boolean): VNode => (
    <Button tone={isNext ? 'primary' : 'plain'} small={!isNext} onClick={makeKey}>
      Make the key
    </Button>
  )
  return {
    title,
    isDone: hasKey,
    state: hasKey ? 'The workspace has a key.' : 'A program signs in with it. This key can send, and nothing else.',
    body: apiKey === null ? null : <NewKey apiKey={apiKey} />,
    isOpen: apiKey !== null,
    act: mayAdminister.value ? act : onlyAdmins,
    again: linkAgain('/keys', 'Show the keys'),
  }
}

function NewKey({ apiKey }: { readonly apiKey: string }): VNode {
  return (
    <Note tone="warn" title="Copy the key now">
      <p>
        <Copy text={apiKey} label="the key" />
      </p>
      <p>This page shows it only once. The samples below contain it.</p>
    </Note>
  )
}

function describeSending({ steps: { email }, apiKey }: Known): Step {
  return {
    title: 'Send the first email',
    isDone: email !== null,
    state: email === null ? 'Each sample sends one email to you.' : 'Posthorn has accepted an email.',
    body: <SendingSamples apiKey={apiKey} />,
    isOpen: apiKey !== null && email === null,
    act: () => (
      <ButtonLink small href="/emails/new">
        Or write one here
      </ButtonLink>
    ),
    again: linkAgain('/keys', 'Show the samples again'),
  }
}

function describeArrival({ steps: { email, is_delivered: isDelivered } }: Known): Step {
  const title = 'See it arrive'
  if (email === null) {
    return { title, isDone: false, state: 'The state of the email appears here.', body: null }
  }
  const state = (
    <>
      <MailState state={email.status} /> {email.subject}
    </>
  )
  const body = <p>Its page shows each attempt, and what the other server has answered.</p>
  const href = `/emails/${email.id}`
  return {
    ...{ title, isDone: isDelivered, state, body },
    act: linkTo(href, 'What happens to it'),
    again: linkAgain(href, 'What happened to it'),
  }
}

function describeWebhook({ steps: { has_webhook: isDone } }: Known): Step {
  return {
    title: 'Tell your program what happens',
    isDone,
    state: isDone
      ? 'A webhook reports events.'
      : 'Optional. A webhook reports each delivery, bounce and complaint to an address of yours.',
    body: null,
    act: mayAdminister.value ? linkTo('/webhooks/new', 'Add a webhook') : onlyAdmins,
    again: linkAgain('/webhooks', 'Show the webhooks'),
  }
}

function describeInvitation({ steps: { has_invited: isDone } }: Known): Step {
  return {
    title: 'Invite your team',
    isDone,
    state: isDone ? 'You are not alone here.' : 'Optional. Each person gets their own account and a role.',
    body: null,
    act: mayAdminister.value ? linkTo('/members', 'Invite a person') : onlyAdmins,
    again: linkAgain('/members', 'Show the members'),
  }
}

function linkTo(href: string, label: string): (isNext: boolean) => VNode {
  return (isNext) => (
    <ButtonLink small={!isNext} href={href} tone={isNext ? 'primary' : 'plain'}>
      {label}
    </ButtonLink>
  )
}

function linkAgain(href: string, label: string): VNode {
  return (
    <ButtonLink small href={href} tone="quiet">
      {label}
    </ButtonLink>
  )
}

/** Returns the key, which the server does not show again. */
async function createFirstKey(): Promise<string> {
  const body = { name: 'First program', scopes: ['send' as const] }
  return (await unwrap(api.POST('/v1/api-keys', { body }))).key
}

export function loadFirstSteps(): Promise<FirstStepsState> {
  return unwrap(sessionApi.GET('/ui/api/first-steps'))
}
