/**
 * Loads what a page shows: when the page appears, when its keys change, and when `reload` is called. The page keeps
 * the old data while it loads again. Use it with the component Loaded.
 */
import { useEffect, useRef, useState } from 'preact/hooks'
import { type ApiError, asApiError } from './api-error.ts'

export interface Loading<Data> {
  /** Undefined means that nothing was loaded yet. */
  readonly data: Data | undefined
  /** The error of the last load. */
  readonly error: ApiError | null
  readonly reload: () => void
  /** Shows other data, such as the answer of a change with the new state. */
  readonly replace: (data: Data) => void
}

interface LoadOptions<Data> {
  /** Milliseconds until the next load. Null means that the page does not load again by itself. Hidden pages wait. */
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

/**
 * Calls `act` after `pause` milliseconds. If the page is hidden then, it calls `act` when the page is shown again.
 * Each new `state` starts another pause.
 */
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
