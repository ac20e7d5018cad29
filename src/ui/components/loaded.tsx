/** Shows what `useLoad` loaded: a placeholder before, the fault with a way to try again if it failed. */
import type { ComponentChildren, VNode } from 'preact'
import type { ApiError } from '../api/api-error.ts'
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

/** The status of an answer that a further attempt does not change. */
const NOT_FOUND = 404

interface FaultProps {
  readonly error: ApiError
  readonly onRetry?: () => void
}

export function Fault({ error, onRetry }: FaultProps): VNode {
  return (
    <div class="fault" role="alert">
      <p>{error.message}</p>
      {onRetry === undefined || error.status === NOT_FOUND ? null : (
        <Button small onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  )
}

interface EmptyProps {
  readonly title: string
  readonly children?: ComponentChildren
}

/** In place of a list without rows: what would be here, and how it gets here. */
export function Empty({ title, children }: EmptyProps): VNode {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  )
}
