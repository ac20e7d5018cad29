/**
 * The search over everything: pages by name, and what the server finds, in groups. The arrow keys walk through the
 * results, and Enter in the field opens the first one, when the results are those of the text in the field.
 */
import type { VNode } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { sessionApi, unwrap } from '../api/client.ts'
import { mayOperate } from '../api/session-state.ts'
import { useLoad } from '../api/use-load.ts'
import { allowBreaks } from '../components/allow-breaks.tsx'
import { Dialog } from '../components/dialog.tsx'
import { MailState } from '../components/mail-state.tsx'
import { StatusBadge, Time } from '../components/values.tsx'
import { hasWord } from './page-words.ts'
import { routes } from './routes.ts'
import { type FoundGroup, type FoundItem, kindNames, toAllResults, toResult } from './search-links.ts'

interface SearchProps {
  readonly onClose: () => void
}

const MIN_LENGTH = 2
/** Milliseconds after the last key until the server is asked. */
const PAUSE = 250

export function SearchDialog({ onClose }: SearchProps): VNode {
  const [typed, setTyped] = useState('')
  const text = usePaused(typed.trim())
  const isLong = text.length >= MIN_LENGTH
  const { results, error, isLoading } = useFound(text)
  const pages = isLong ? findPages(typed.trim().toLowerCase()) : []
  const count = results.data.reduce((sum, { items }) => sum + items.length, pages.length)
  const body = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const walkInBody = (event: KeyboardEvent): void => walk(event, body.current)
    document.addEventListener('keydown', walkInBody)
    return () => document.removeEventListener('keydown', walkInBody)
  }, [])
  const isWaiting = typed.trim() !== text || isLoading
  const openFirst = useOpening(typed.trim(), isWaiting, () => linksIn(body.current)[0]?.click())
  return (
    <Dialog title="Search" onClose={onClose} wide>
      <div ref={body} class="search">
        <form onSubmit={openFirst}>
          <SearchField onInput={setTyped} onClose={onClose} />
        </form>
        <Status {...{ text, count, error }} isWaiting={isWaiting} />
        <PageResults pages={pages} onOpen={onClose} />
        {results.data.map((group) => (
          <GroupResults key={group.kind} group={group} text={text} onOpen={onClose} />
        ))}
        {results.notes.map((note) => (
          <p key={note} class="search-note">
            {note}
          </p>
        ))}
      </div>
    </Dialog>
  )
}

/** Returns what a form does at its submission: `open`, as soon as the results are those of the text, if it is still the same then. */
function useOpening(text: string, isWaiting: boolean, open: () => void): (event: SubmitEvent) => void {
  const [awaited, setAwaited] = useState<string | null>(null)
  useEffect(() => {
    if (awaited === null || (awaited === text && isWaiting)) return
    setAwaited(null)
    if (awaited === text) open()
  }, [awaited, text, isWaiting])
  return (event) => {
    event.preventDefault()
    setAwaited(text)
  }
}

interface Results {
  readonly data: readonly FoundGroup[]
  readonly notes: readonly string[]
}

const nothing: Results = { data: [], notes: [] }

function findAll(text: string): Promise<Results> {
  return unwrap(sessionApi.GET('/ui/api/search', { params: { query: { text } } }))
}

interface Found {
  readonly results: Results
  readonly error: string | null
  readonly isLoading: boolean
}

/** Asks the server for a text that is long enough. */
function useFound(text: string): Found {
  const isLong = text.length >= MIN_LENGTH
  const load = async () => ({ of: text, results: isLong ? await findAll(text) : nothing })
  const { data, error } = useLoad(load, [text])
  // While a new text is loaded, the data are those of the text before.
  const isLoading = isLong && data?.of !== text && error === null
  return { results: isLong ? (data?.results ?? nothing) : nothing, error: error?.message ?? null, isLoading }
}

/** Returns a text as it was when the user last paused. */
function usePaused(text: string): string {
  const [paused, setPaused] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setPaused(text), PAUSE)
    return () => clearTimeout(timer)
  }, [text])
  return paused
}

interface FieldProps {
  readonly onInput: (text: string) => void
  readonly onClose: () => void
}

function SearchField({ onInput, onClose }: FieldProps): VNode {
  const id = useId()
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => field.current?.focus(), [])
  return (
    <>
      <label class="visually-hidden" for={id}>
        Address, subject, Message-ID, or the name of anything
      </label>
      <input
        ref={field}
        id={id}
        type="search"
        class="search-field"
        maxLength={320}
        autocomplete="off"
        spellcheck={false}
        placeholder="Address, subject, Message-ID, name …"
        onKeyDown={(event) => {
          // The browser would clear the field first, and close the dialog only with the second press.
          if (event.key !== 'Escape') return
          event.preventDefault()
          onClose()
        }}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </>
  )
}

interface StatusProps {
  readonly text: string
  /** It counts all results, pages too. */
  readonly count: number
  readonly error: string | null
  readonly isWaiting: boolean
}

/** Screen readers read it when it changes. */
function Status({ text, count, error, isWaiting }: StatusProps): VNode {
  const words =
    text.length < MIN_LENGTH
      ? 'Type at least two characters. A complete address finds all of its emails, those of broadcasts too.'
      : isWaiting
        ? 'Searching …'
        : (error ?? (count === 0 ? 'Nothing was found.' : `${count} found.`))
  return (
    <p class="search-note" role="status">
      {words}
    </p>
  )
}

/** Pages that a search lists. */
const MAX_PAGES = 5

interface FoundPage {
  readonly path: string
  readonly label: string
}

interface PagesProps {
  readonly pages: readonly FoundPage[]
  readonly onOpen: () => void
}

function PageResults({ pages, onOpen }: PagesProps): VNode | null {
  if (pages.length === 0) return null
  return (
    <section class="search-group">
      <h3>Pages</h3>
      <ul>
        {pages.map(({ path, label }) => (
          <li key={path}>
            <Link href={path} onClick={onOpen}>
              {label}
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** Pages of the menu of the account. */
const unlisted: readonly FoundPage[] = [
  { path: '/account', label: 'Account: password, sessions, color scheme' },
  { path: '/help', label: 'Documentation' },
]

/** Pages that are named by the text come before those that have it among their words. */
function findPages(text: string): readonly FoundPage[] {
  const pages = routes
    .filter(({ area }) => area !== 'operator' || mayOperate.value)
    .flatMap(({ path, navigation }) => (navigation === undefined ? [] : [{ path, label: navigation.label }]))
  const all = [...pages, ...unlisted]
  const named = all.filter(({ label }) => label.toLowerCase().includes(text))
  const worded = all.filter((page) => !named.includes(page) && hasWord(page.path, text))
  return [...named, ...worded].slice(0, MAX_PAGES)
}

interface GroupProps {
  readonly group: FoundGroup
  readonly text: string
  readonly onOpen: () => void
}

function GroupResults({ group: { kind, items, has_more: hasMore }, text, onOpen }: GroupProps): VNode {
  const name = kindNames[kind]
  return (
    <section class="search-group">
      <h3>{name}</h3>
      <ul>
        {items.map((item) => (
          <li key={item.id}>
            <Link href={toResult(kind, item)} onClick={onOpen}>
              <ItemText kind={kind} item={item} />
            </Link>
          </li>
        ))}
        {hasMore ? (
          <li>
            <Link href={toAllResults(kind, text)} onClick={onOpen}>
              Show all: {name.toLowerCase()}
            </Link>
          </li>
        ) : null}
      </ul>
    </section>
  )
}

/** A broadcast that is sent has sent all its emails; an email that is sent was passed on. */
function showState(kind: FoundGroup['kind'], status: string | null): VNode | null {
  if (status === null) return null
  return kind === 'emails' ? <MailState state={status} /> : <StatusBadge status={status} />
}

interface ItemTextProps extends Pick<FoundGroup, 'kind'> {
  readonly item: FoundItem
}

function ItemText({ kind, item: { title, note, status, at } }: ItemTextProps): VNode {
  return (
    <>
      <span class="search-title">{allowBreaks(title.trim() === '' ? '(no subject)' : title)}</span>
      {showState(kind, status)}
      <span class="search-remark">
        {allowBreaks(note)} {at === null ? null : <Time at={at} />}
      </span>
    </>
  )
}

function linksIn(element: HTMLElement | null): readonly HTMLElement[] {
  return [...(element?.querySelectorAll<HTMLElement>('.search-group a') ?? [])]
}

/** Moves the focus with the arrow keys: from the field to the first result, and between results. */
function walk(event: KeyboardEvent, body: HTMLElement | null): void {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
  const places = [body?.querySelector<HTMLElement>('.search-field') ?? null, ...linksIn(body)]
  const at = places.findIndex((place) => place?.matches(':focus') ?? false)
  const next = places[at + (event.key === 'ArrowDown' ? 1 : -1)]
  if (at === -1 || next === null || next === undefined) return
  event.preventDefault()
  next.focus()
}
