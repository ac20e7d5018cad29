/**
 * Asks before text that is not saved, or a secret that is shown once, is left: by a link of the dashboard, by the
 * history of the browser, or by closing the window. A page with such text has one guard. A user who stays finds the
 * focus in the field that was written last.
 */
import { useEffect, useRef } from 'preact/hooks'

export interface LeaveGuard {
  /** Says that there is text that is not saved. */
  readonly set: () => void
  /** Returns the state that a save begins with, for `clear`. */
  readonly begin: () => number
  /** Says that the text of `begin` is saved. It stays unsaved if it has changed since. */
  readonly clear: (begun: number) => void
}

/** Changes since the page was opened, of those that are not saved. Zero means that all is saved. */
let unsaved = 0

const UNSAVED = 'There is text that is not saved. Leave without saving it?'

/** What the guard of the open page asks. */
let question = UNSAVED

/** The field that had the focus when text was last written. */
let written: Element | null = null

export function useLeaveGuard(asked = UNSAVED): LeaveGuard {
  const changes = useRef(0)
  useEffect(() => {
    question = asked
    window.addEventListener('beforeunload', holdWindow)
    const stop = watchHistory()
    return () => {
      unsaved = 0
      written = null
      window.removeEventListener('beforeunload', holdWindow)
      stop()
    }
  }, [])
  const guard = useRef<LeaveGuard>({
    set: () => {
      changes.current += 1
      unsaved = changes.current
      written = document.activeElement
    },
    begin: () => changes.current,
    clear: (begun) => {
      if (begun === changes.current) unsaved = 0
    },
  })
  return guard.current
}

/** Returns true if the user may go to another page. It asks if something would be lost. */
export function mayLeave(): boolean {
  if (unsaved === 0) return true
  const leaves = window.confirm(question)
  if (leaves) unsaved = 0
  else focusWritten(written)
  return leaves
}

/** Waits until a menu or dialog with the link has closed, because that moves the focus too. */
function focusWritten(field: Element | null): void {
  setTimeout(() => {
    if (field instanceof HTMLElement && field !== document.body) field.focus()
  })
}

function holdWindow(event: BeforeUnloadEvent): void {
  if (unsaved !== 0) event.preventDefault()
}

interface NavigateEvent extends Event {
  readonly navigationType: string
}

/** Browsers that lack the interface go back without a question. The text of a draft was saved by itself until then. */
function watchHistory(): () => void {
  const navigation: unknown = Reflect.get(window, 'navigation')
  if (!(navigation instanceof EventTarget)) return () => undefined
  const hold = (event: Event): void => {
    if (isTraversal(event) && event.cancelable && !mayLeave()) event.preventDefault()
  }
  navigation.addEventListener('navigate', hold)
  return () => navigation.removeEventListener('navigate', hold)
}

function isTraversal(event: Event): event is NavigateEvent {
  return Reflect.get(event, 'navigationType') === 'traverse'
}
