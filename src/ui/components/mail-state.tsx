/**
 * The states of an email and of its recipients in words. *Passed on* is the state `sent`: a server that delivers further has
 * taken the email.
 */
import type { VNode } from 'preact'
import { StatusBadge, toWords } from './values.tsx'

export const PASSED_ON = 'Passed on'

/** Explains the word where emails in that state are counted. */
export const PASSED_ON_MEANING =
  'Passed on means that another server, such as a relay, has accepted the email and delivers it further.'

export function nameMailState(state: string): string {
  return state === 'sent' ? PASSED_ON : toWords(state)
}

export function MailState({ state }: { readonly state: string }): VNode {
  return (
    <StatusBadge status={state} {...(state === 'sent' ? { tone: 'good' as const } : {})}>
      {nameMailState(state)}
    </StatusBadge>
  )
}
