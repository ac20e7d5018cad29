/** Buttons, and links that look like them. */
import type { ComponentChildren, VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { asApiError } from '../api/api-error.ts'
import { notify } from './notices.tsx'

type Tone = 'primary' | 'plain' | 'danger' | 'quiet'

interface ButtonProps {
  readonly children: ComponentChildren
  /**
   * While a promise that it returns is pending, the button waits. It keeps the focus, which a disabled button would lose.
   * If the promise fails, a notice says why.
   */
  readonly onClick: () => unknown
  readonly tone?: Tone
  readonly disabled?: boolean
  /** The text for screen readers, if the visible text is the same in each row. */
  readonly label?: string
  readonly small?: boolean
}

export function Button({
  children,
  onClick,
  tone = 'plain',
  disabled = false,
  label,
  small = false,
}: ButtonProps): VNode {
  const [busy, setBusy] = useState(false)
  const act = (): void => {
    if (busy) return
    const pending = onClick()
    if (!(pending instanceof Promise)) return
    setBusy(true)
    pending.catch((error: unknown) => notify(asApiError(error).message, 'bad')).finally(() => setBusy(false))
  }
  return (
    <button
      type="button"
      class={buttonClass(tone, small)}
      disabled={disabled}
      aria-busy={busy}
      aria-disabled={busy}
      aria-label={label}
      onClick={act}
    >
      {children}
    </button>
  )
}

interface ButtonLinkProps {
  readonly href: string
  readonly children: ComponentChildren
  readonly tone?: Tone
  readonly small?: boolean
  /** Called before the link is followed. */
  readonly onClick?: () => void
}

export function ButtonLink({ href, children, tone = 'plain', small = false, onClick }: ButtonLinkProps): VNode {
  return (
    <Link href={href} class={buttonClass(tone, small)} onClick={() => onClick?.()}>
      {children}
    </Link>
  )
}

export function buttonClass(tone: Tone, small = false): string {
  return `button button-${tone}${small ? ' button-small' : ''}`
}
