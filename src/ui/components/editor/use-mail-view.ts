/** Runs the editor in an element of the page, and what is open with it: the menu of blocks, or a dialog. */
import type { MutableRef } from 'preact/hooks'
import { useEffect, useRef, useState } from 'preact/hooks'
import {
  type Attributes,
  type BlockKind,
  type FormKind,
  type MailDocument,
  type MailView,
  noSelection,
  type Place,
  type SelectionFacts,
} from './mail-document.ts'

export type MailCode = typeof import('./mail-view.ts')

export interface MailViewProps {
  readonly code: MailCode
  /** The first document. Null means an empty mail. */
  readonly document: MailDocument | null
  readonly label: string
  readonly onChange: (document: MailDocument | null) => void
}

interface OpenForm {
  readonly kind: FormKind
  readonly attrs: Attributes | null
  /** True if the form inserts something instead of changing it. */
  readonly inserts: boolean
}

interface RunningView {
  readonly view: MailView | null
  readonly facts: SelectionFacts
  /** Why the mail cannot be shown. */
  readonly fault: string | null
  readonly menu: Place | null
  readonly form: OpenForm | null
  /** What the last act did, for screen readers. */
  readonly announced: string
  readonly host: MutableRef<HTMLDivElement | null>
  readonly toolbar: MutableRef<HTMLDivElement | null>
  readonly openMenu: () => void
  readonly closeMenu: () => void
  readonly choose: (kind: BlockKind) => void
  readonly move: (by: -1 | 1) => void
  readonly ask: (kind: FormKind) => void
  readonly openForm: (form: OpenForm) => void
  readonly closeForm: () => void
  readonly apply: (attrs: Attributes) => void
  readonly unlink: () => void
}

interface Shown {
  readonly facts: SelectionFacts
  readonly menu: Place | null
  readonly form: OpenForm | null
  readonly announced: string
}

const nothing: Shown = { facts: noSelection, menu: null, form: null, announced: '' }

export function useMailView(props: MailViewProps, describedBy: string): RunningView {
  const [shown, setShown] = useState(nothing)
  const change = (part: Partial<Shown>): void => setShown((before) => ({ ...before, ...part }))
  const latest = useRef({ facts: noSelection, props })
  latest.current.props = props
  const toolbar = useRef<HTMLDivElement | null>(null)
  const ask = (kind: FormKind): void => change({ form: chooseForm(kind, latest.current.facts) })
  const tellMove = (by: -1 | 1): void =>
    change({ announced: by === -1 ? 'The block is moved up.' : 'The block is moved down.' })
  const { view, fault, host } = useStartedView(props, describedBy, (started) => ({
    onChange: (document) => latest.current.props.onChange(document),
    onSelect: (facts) => {
      latest.current.facts = facts
      change({ facts })
    },
    onMenu: () => change({ menu: started()?.readCursorPlace() ?? null }),
    onAsk: ask,
    onToolbar: () => toolbar.current?.querySelector<HTMLElement>('button[tabindex="0"]')?.focus(),
    onMoved: tellMove,
  }))
  useReturningFocus(view, shown.form !== null)
  const acts = buildActs({ view, shown, change, tellMove })
  return { view, ...shown, fault, host, toolbar, ask, ...acts }
}

/** A dialog gives the focus back to what had it, which may be gone by then. So the editor takes it. */
function useReturningFocus(view: MailView | null, hasForm: boolean): void {
  const hadForm = useRef(false)
  useEffect(() => {
    if (hadForm.current && !hasForm) view?.focus()
    hadForm.current = hasForm
  }, [hasForm])
}

type BuildEvents = (started: () => MailView | null) => Parameters<MailCode['createMailView']>[2]

function useStartedView(
  { code, document, label }: MailViewProps,
  describedBy: string,
  buildEvents: BuildEvents,
): Pick<RunningView, 'view' | 'fault' | 'host'> {
  const host = useRef<HTMLDivElement | null>(null)
  const [view, setView] = useState<MailView | null>(null)
  const [fault, setFault] = useState<string | null>(null)
  useEffect(() => {
    let made: MailView | null = null
    try {
      if (host.current === null) return undefined
      made = code.createMailView(
        host.current,
        { document, label, describedBy },
        buildEvents(() => made),
      )
      setView(made)
    } catch (error) {
      setFault(`The editor cannot show this mail: ${error instanceof Error ? error.message : String(error)}`)
    }
    return () => made?.destroy()
  }, [])
  return { view, fault, host }
}

interface ActParts {
  readonly view: MailView | null
  readonly shown: Shown
  readonly change: (part: Partial<Shown>) => void
  readonly tellMove: (by: -1 | 1) => void
}

type Acts = Pick<
  RunningView,
  'openMenu' | 'closeMenu' | 'choose' | 'move' | 'openForm' | 'closeForm' | 'apply' | 'unlink'
>

function buildActs({ view, shown, change, tellMove }: ActParts): Acts {
  const openForm = (form: OpenForm): void => change({ form })
  return {
    openForm,
    closeForm: () => change({ form: null }),
    openMenu: () => change({ menu: view?.readCursorPlace() ?? null }),
    closeMenu: () => {
      change({ menu: null })
      view?.focus()
    },
    choose: (kind) => {
      change({ menu: null })
      if (kind === 'button' || kind === 'image' || kind === 'html') openForm({ kind, attrs: null, inserts: true })
      else view?.insert(kind)
    },
    move: (by) => {
      if (view?.move(by) === true) tellMove(by)
    },
    apply: (attrs) => {
      change({ form: null })
      if (view !== null && shown.form !== null) applyForm(view, shown.form, attrs)
    },
    unlink: () => {
      change({ form: null })
      view?.setLink(null, '')
    },
  }
}

function chooseForm(kind: FormKind, { node, link }: SelectionFacts): OpenForm {
  if (kind === 'link') return { kind, attrs: link === null ? null : { href: link }, inserts: false }
  return { kind, attrs: node?.attrs ?? null, inserts: node === null }
}

function applyForm(view: MailView, { kind, inserts }: OpenForm, attrs: Attributes): void {
  if (kind === 'link') view.setLink(String(attrs['href']), String(attrs['text'] ?? ''))
  else if (!inserts) view.change(attrs)
  else if (kind === 'variable') view.insertVariable(attrs)
  else view.insert(kind, attrs)
}
