/**
 * Lists what needs attention as the server tells it, worst first, each with its cure. The overview and the page of health
 * show the same list.
 */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import type { components } from '../../api/session-schema.d.ts'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { Button, ButtonLink } from '../../components/button.tsx'
import { capitalize, formatNumber } from '../../components/format.ts'
import { Copy, StatusBadge, Time } from '../../components/values.tsx'
import './concern-list.css'

export type Concern = components['schemas']['Concern']

interface ConcernListProps {
  readonly concerns: readonly Concern[]
  /** The list begins with so many. A button shows the others. */
  readonly first?: number
  /** Each is a line, which a click opens. */
  readonly isBrief?: boolean
}

export function ConcernList({ concerns, first = Number.POSITIVE_INFINITY, isBrief = false }: ConcernListProps): VNode {
  const [all, setAll] = useState(false)
  const shown = all ? concerns : concerns.slice(0, first)
  const left = concerns.length - shown.length
  return (
    <>
      <ul class="attention">
        {shown.map((concern) => (
          <Item key={concern.key} concern={concern} isBrief={isBrief} />
        ))}
      </ul>
      {left === 0 ? null : (
        <div class="attention-more">
          <Button onClick={() => setAll(true)}>Show {formatNumber(left)} more</Button>
        </div>
      )}
    </>
  )
}

const badges = {
  bad: { tone: 'bad', word: 'Failure' },
  warn: { tone: 'warn', word: 'Warning' },
  unanswered: { tone: 'neutral', word: 'No answer' },
} as const

interface ItemProps {
  readonly concern: Concern
  readonly isBrief: boolean
}

function Item({ concern, isBrief }: ItemProps): VNode {
  const { severity, link } = concern
  const [here] = useLocation()
  return (
    <li class={`attention-item attention-${severity}${isBrief ? ' attention-brief' : ''}`}>
      {isBrief ? (
        <details>
          <summary>
            <Title concern={concern} />
          </summary>
          <ItemText concern={concern} />
        </details>
      ) : (
        <div>
          <Title concern={concern} />
          <ItemText concern={concern} />
        </div>
      )}
      {link === null || link.href === here ? null : (
        <ButtonLink small href={link.href}>
          {link.label}
        </ButtonLink>
      )}
    </li>
  )
}

function Title({ concern: { severity, title } }: { readonly concern: Concern }): VNode {
  const { tone, word } = badges[severity]
  return (
    <h3>
      {allowBreaks(title)}{' '}
      <StatusBadge status={severity} tone={tone}>
        {word}
      </StatusBadge>
    </h3>
  )
}

function ItemText({ concern: { title, text, remedy, affected } }: { readonly concern: Concern }): VNode {
  return (
    <>
      <p>{localizeTimes(text)}</p>
      {remedy.length === 0 ? null : (
        <ul class="attention-remedy">
          {remedy.map((line) => (
            <li key={line}>
              <RemedyLine line={line} title={title} />
            </li>
          ))}
        </ul>
      )}
      {affected.length === 0 ? null : <Affected texts={affected} />}
    </>
  )
}

/** A command or a record to copy. A line that begins with `#` is advice to read. */
function RemedyLine({ line, title }: { readonly line: string; readonly title: string }): VNode {
  const [, advice] = /^# (.+)/.exec(line) ?? []
  if (advice === undefined) return <Copy text={line} label={`what to do: ${title}`} />
  return <>{allowBreaks(`${capitalize(advice)}${advice.endsWith(':') ? '' : '.'}`)}</>
}

/** What has the same cause, which a click shows. */
function Affected({ texts }: { readonly texts: readonly string[] }): VNode {
  return (
    <details class="attention-affected">
      <summary>
        {texts.length === 1 ? 'Show what else has this cause' : `Show ${formatNumber(texts.length)} with this cause`}
      </summary>
      <ul>
        {texts.map((text) => (
          <li key={text}>{allowBreaks(text)}</li>
        ))}
      </ul>
    </details>
  )
}

const MOMENT = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)/

/** Texts of the server have times in ISO 8601. */
function localizeTimes(text: string): readonly (VNode | string)[] {
  return text
    .split(MOMENT)
    .map((part, place) =>
      place % 2 === 1 ? <Time key={place} at={part} /> : <span key={place}>{allowBreaks(part)}</span>,
    )
}

/** Says how many of each severity the list has: `2 failures, 1 warning, 3 checks without an answer`. */
export function countConcerns(concerns: readonly Concern[]): string {
  const count = (severity: Concern['severity']): number => concerns.filter((one) => one.severity === severity).length
  const counts = [
    [count('bad'), 'failure', 'failures'],
    [count('warn'), 'warning', 'warnings'],
    [count('unanswered'), 'check without an answer', 'checks without an answer'],
  ] as const
  return counts
    .filter(([number]) => number > 0)
    .map(([number, one, many]) => `${formatNumber(number)} ${number === 1 ? one : many}`)
    .join(', ')
}
