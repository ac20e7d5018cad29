/**
 * Asks before text that is not saved is left: by a link of the dashboard, by the history of the browser, or by closing
 * the window. A page with such text has one guard.
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

const QUESTION = 'There is text that is not saved. Leave without saving it?'

export function useLeaveGuard(): LeaveGuard {
  const changes = useRef(0)
  useEffect(() => {
    window.addEventListener('beforeunload', holdWindow)
    const stop = watchHistory()
    return () => {
      unsaved = 0
      window.removeEventListener('beforeunload', holdWindow)
      stop()
    }
  }, [])
  const guard = useRef<LeaveGuard>({
    set: () => {
      changes.current += 1
      unsaved = changes.current
    },
    begin: () => changes.current,
    clear: (begun) => {
      if (begun === changes.current) unsaved = 0
    },
  })
  return guard.current
}

/** Returns true if the user may go to another page. It asks if there is text that is not saved. */
export function mayLeave(): boolean {
  if (unsaved === 0) return true
  const leaves = window.confirm(QUESTION)
  if (leaves) unsaved = 0
  return leaves
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
