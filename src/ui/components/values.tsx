/** Shows values: times, states, identifiers to copy, lists of facts, and notes. */
import type { ComponentChildren, VNode } from 'preact'
import { useState } from 'preact/hooks'
import { allowBreaks } from './allow-breaks.tsx'
import { readNow } from './clock.ts'
import { formatDateTime, formatDay, formatRelative, formatSecond, formatUtc } from './format.ts'
import { notify } from './notices.tsx'

interface TimeProps {
  /** ISO 8601. For null and undefined the page shows `otherwise`. */
  readonly at: string | null | undefined
  readonly kind?: 'moment' | 'second' | 'day' | 'relative'
  readonly otherwise?: string
}

const timeFormats = {
  moment: formatDateTime,
  second: formatSecond,
  day: formatDay,
  relative: (at: string) => formatRelative(at, readNow()),
} as const

/** Shows the time in the browser's zone, with the exact UTC on hover. */
export function Time({ at, kind = 'moment', otherwise = '–' }: TimeProps): VNode {
  if (at === null || at === undefined) return <span class="soft">{otherwise}</span>
  return (
    <time class="time" dateTime={at} title={formatUtc(at)}>
      {timeFormats[kind](at)}
    </time>
  )
}

type Tone = 'good' | 'warn' | 'bad' | 'info' | 'neutral'

const GOOD =
  'verified delivered sent active subscribed completed enabled succeeded accepted ham pass published owner ok'
const WARN =
  'pending queued scheduled deferred retrying held paused publishing retiring processing sending importing running'
const BAD = 'failed bounced complained rejected spam disabled expired suppressed error missing mismatch fail'
const tones: ReadonlyMap<string, Tone> = new Map([
  ...GOOD.split(' ').map((word) => [word, 'good'] as const),
  ...WARN.split(' ').map((word) => [word, 'warn'] as const),
  ...BAD.split(' ').map((word) => [word, 'bad'] as const),
])

interface StatusBadgeProps {
  /** The word of the interface: `verified`, `soft_bounced`. */
  readonly status: string
  /** The tone. Without it, the status decides. */
  readonly tone?: Tone
  /** The text. Without it, the badge shows the status in words. */
  readonly children?: ComponentChildren
}

export function StatusBadge({ status, tone, children }: StatusBadgeProps): VNode {
  return <span class={`badge badge-${tone ?? tones.get(status) ?? 'neutral'}`}>{children ?? toWords(status)}</span>
}

/** Turns `soft_bounced` into `Soft bounced`. */
export function toWords(name: string): string {
  const words = name.replace(/[_-]/g, ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

interface CopyProps {
  readonly text: string
  /** What the button copies, for its name: `the value of the MX record`. */
  readonly label: string
  /** Called when the text is in the clipboard. */
  readonly onCopied?: (() => void) | undefined
}

/** Text in a fixed-width font with a button that copies it. */
export function Copy({ text, label, onCopied }: CopyProps): VNode {
  return (
    <span class="copy" onCopy={() => onCopied?.()}>
      <code>{allowBreaks(text)}</code>
      <CopyButton text={text} label={label} onCopied={onCopied} />
    </span>
  )
}

/** Milliseconds for which the button says that it has copied. */
const SHOWS_COPIED = 2_000

interface CopyButtonProps extends CopyProps {
  /** The text of the button. Without it, the button says “Copy”. */
  readonly children?: ComponentChildren
}

export function CopyButton({ text, label, onCopied, children = 'Copy' }: CopyButtonProps): VNode {
  const [copied, setCopied] = useState(false)
  const copy = (): void => {
    const show = (): void => {
      setCopied(true)
      onCopied?.()
      setTimeout(() => setCopied(false), SHOWS_COPIED)
    }
    const fail = (): void => notify('The browser does not allow copying. Select the text and copy it yourself.', 'bad')
    navigator.clipboard.writeText(text).then(show, fail)
  }
  return (
    <button type="button" class="copy-button" aria-label={copied ? `Copied ${label}` : `Copy ${label}`} onClick={copy}>
      {copied ? 'Copied' : children}
    </button>
  )
}

interface Fact {
  readonly name: string
  readonly value: ComponentChildren
}

/** Names and values of one thing. */
export function Facts({ facts }: { readonly facts: readonly Fact[] }): VNode {
  return (
    <dl class="facts">
      {facts.map(({ name, value }) => (
        <div key={name} class="fact">
          <dt>{name}</dt>
          <dd>{allowBreaks(value)}</dd>
        </div>
      ))}
    </dl>
  )
}

interface NoteProps {
  readonly tone: Tone
  readonly title?: string
  readonly children: ComponentChildren
}

/** A remark within a page: what needs attention, and how to repair it. */
export function Note({ tone, title, children }: NoteProps): VNode {
  return (
    <div class={`note note-${tone}`}>
      {title === undefined ? null : <p class="note-title">{title}</p>}
      {children}
    </div>
  )
}
