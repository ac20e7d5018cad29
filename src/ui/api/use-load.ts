/**
 * Loads what a page shows, when the page appears and again when its keys change or `reload` is called. What was loaded
 * stays while it is loaded again. Use it with the component Loaded.
 */
import { useEffect, useRef, useState } from 'preact/hooks'
import { type ApiError, asApiError } from './api-error.ts'

export interface Loading<Data> {
  /** Undefined: nothing was loaded yet. */
  readonly data: Data | undefined
  /** The error of the last time that it was loaded. */
  readonly error: ApiError | null
  readonly reload: () => void
  /** Shows this instead, as after a change that answers with the new state. */
  readonly replace: (data: Data) => void
}

interface LoadOptions<Data> {
  /** Milliseconds until it is loaded again; null: not by itself. Hidden pages wait. */
  readonly every?: (data: Data) => number | null
}

interface State<Data> {
  readonly data: Data | undefined
  readonly error: ApiError | null
}

export function useLoad<Data>(
  load: () => Promise<Data>,
  keys: readonly unknown[] = [],
  { every }: LoadOptions<Data> = {},
): Loading<Data> {
  const [state, setState] = useState<State<Data>>({ data: undefined, error: null })
  const [round, setRound] = useState(0)
  const loadNow = useRef(load)
  loadNow.current = load
  const reload = (): void => setRound((before) => before + 1)
  useEffect(() => {
    let stale = false
    loadNow.current().then(
      (data) => {
        if (!stale) setState({ data, error: null })
      },
      (error: unknown) => {
        if (!stale) setState(({ data }) => ({ data, error: asApiError(error) }))
      },
    )
    return () => {
      stale = true
    }
  }, [...keys, round])
  useRepeat(state.data === undefined || every === undefined ? null : every(state.data), reload, state)
  const replace = (data: Data): void => setState({ data, error: null })
  return { data: state.data, error: state.error, reload, replace }
}

/** Calls `act` after `pause` milliseconds, or when the page is shown again after them; anew for each `state`. */
function useRepeat(pause: number | null, act: () => void, state: unknown): void {
  useEffect(() => {
    if (pause === null) return
    const actIfVisible = (): void => {
      if (document.visibilityState === 'visible') act()
      else document.addEventListener('visibilitychange', actIfVisible, { once: true })
    }
    const timer = setTimeout(actIfVisible, pause)
    return () => {
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', actIfVisible)
    }
  }, [pause, state])
}
