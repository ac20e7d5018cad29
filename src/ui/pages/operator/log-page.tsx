/** The newest lines of the log, loaded again while the page is open. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { sessionApi, unwrap } from '../../api/client.ts'
import { type ListPage, PAGE_SIZE, toCursorPage, usePages } from '../../api/use-pages.ts'
import { Button } from '../../components/button.tsx'
import { SelectField } from '../../components/fields.tsx'
import { Filters, useFilters } from '../../components/filters.tsx'
import { Empty } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { type Column, PagedTable } from '../../components/table.tsx'
import { StatusBadge, Time } from '../../components/values.tsx'
import type { LogLine } from './operator-types.ts'

/** Milliseconds. */
const REFRESH = 2_000

const levels = ['debug', 'info', 'warn', 'error'] as const
type Level = (typeof levels)[number]

const filterNames = ['level'] as const
const levelOptions = [
  { value: '', label: 'All' },
  { value: 'info', label: 'Info and above' },
  { value: 'warn', label: 'Warnings and errors' },
  { value: 'error', label: 'Errors' },
]

export function LogPage(): VNode {
  const [live, setLive] = useState(true)
  const filters = useFilters(filterNames)
  const level = levels.find((known) => known === filters.get('level'))
  const pages = usePages((cursor) => loadLines(level, cursor), [filters.key, live], {
    every: () => (live ? REFRESH : null),
  })
  const toggle = <Button onClick={() => setLive(!live)}>{live ? 'Pause' : 'Follow'}</Button>
  return (
    <Page
      title="Log"
      intro="The newest 1,000 lines since the start of the service. The level of the configuration decides what is logged."
      actions={toggle}
    >
      <Filters names={filterNames} filters={filters}>
        <SelectField name="level" label="Level" options={levelOptions} value={filters.get('level')} />
      </Filters>
      <PagedTable
        caption="Lines of the log, newest first"
        pages={pages}
        columns={columns}
        rowKey={({ seq }) => String(seq)}
        empty={<Empty title={filters.isFiltered ? 'No line of this level' : 'Nothing was logged since the start'} />}
      />
    </Page>
  )
}

async function loadLines(level: Level | undefined, cursor: string | undefined): Promise<ListPage<LogLine>> {
  const query = {
    limit: PAGE_SIZE,
    ...(level === undefined ? {} : { level }),
    ...(cursor === undefined ? {} : { cursor }),
  }
  return toCursorPage(await unwrap(sessionApi.GET('/ui/api/operator/log', { params: { query } })))
}

const tones = { warn: 'warn', error: 'bad', fatal: 'bad' } as const

function toneOf(level: string): 'warn' | 'bad' | 'neutral' {
  return level === 'warn' || level === 'error' || level === 'fatal' ? tones[level] : 'neutral'
}

const columns: readonly Column<LogLine>[] = [
  {
    title: 'Time',
    show: ({ time }) => (
      <span class="wide-value">
        <Time at={time} kind="second" />
      </span>
    ),
  },
  { title: 'Level', isPlain: true, show: ({ level }) => <StatusBadge status={level} tone={toneOf(level)} /> },
  {
    title: 'Message',
    isPlain: true,
    show: ({ message, fields }) => <Message text={message} fields={Object.entries(fields)} />,
  },
]

interface MessageProps {
  readonly text: string
  readonly fields: readonly (readonly [string, unknown])[]
}

/** Shows the begin of the fields in one line. A click shows them all. */
function Message({ text, fields }: MessageProps): VNode {
  if (fields.length === 0) return <>{text}</>
  return (
    <details class="log-line">
      <summary>
        {text}
        <span class="log-fields">{fields.map(([name, value]) => `${name}=${formatField(value)}`).join(' ')}</span>
      </summary>
      <dl class="event-data">
        {fields.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{formatField(value)}</dd>
          </div>
        ))}
      </dl>
    </details>
  )
}

function formatField(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
