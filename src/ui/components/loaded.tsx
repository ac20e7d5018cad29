/**
 * Shows what `useLoad` loaded. Before that it shows a placeholder, and after a failure the error with a way to try
 * again.
 */
import type { ComponentChildren, VNode } from 'preact'
import type { ApiError } from '../api/api-error.ts'
import { OUTDATED } from '../api/load-code.ts'
import type { Loading } from '../api/use-load.ts'
import { Button } from './button.tsx'

interface LoadedProps<Data> {
  readonly from: Loading<Data>
  readonly children: (data: Data) => ComponentChildren
}

export function Loaded<Data>({ from, children }: LoadedProps<Data>): VNode {
  const { data, error, reload } = from
  return (
    <>
      {error === null ? null : <Fault error={error} onRetry={reload} />}
      {data === undefined ? error === null && <Placeholder /> : children(data)}
    </>
  )
}

export function Placeholder(): VNode {
  return (
    <div class="placeholder" role="status">
      <span class="visually-hidden">Loading</span>
      <span class="placeholder-line" aria-hidden="true" />
      <span class="placeholder-line" aria-hidden="true" />
      <span class="placeholder-line" aria-hidden="true" />
    </div>
  )
}

/** The status of an answer that another attempt does not change. */
const NOT_FOUND = 404

interface FaultProps {
  readonly error: ApiError
  readonly onRetry?: () => void
}

export function Fault({ error, onRetry }: FaultProps): VNode {
  const isOutdated = error.code === OUTDATED
  const again = error.status === NOT_FOUND ? undefined : onRetry
  const act = isOutdated ? (): void => location.reload() : again
  return (
    <div class="fault" role="alert">
      <p>{error.message}</p>
      {act === undefined ? null : (
        <Button small onClick={act}>
          {isOutdated ? 'Load the page again' : 'Try again'}
        </Button>
      )}
    </div>
  )
}

interface EmptyProps {
  readonly title: string
  readonly children?: ComponentChildren
}

/** Fills the place of a list without rows: it says what would be here, and how it gets here. */
export function Empty({ title, children }: EmptyProps): VNode {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  )
}
