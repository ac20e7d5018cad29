/** The sign and name of the product. */
import type { VNode } from 'preact'

export function Logo(): VNode {
  return (
    <span class="logo">
      <svg class="logo-sign" viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="7" />
        <circle cx="14" cy="17.5" r="6" />
        <path d="M6 11.5h11.5c3.2 0 5.6-1.5 8-4.5v9c-2.4-3-4.8-4.5-8-4.5" />
      </svg>
      Posthorn
    </span>
  )
}
