import { assert } from '../base/assert.ts'
import type { GroupMember, GroupProtocol } from './group-member.ts'

/** Whether one of the protocols is supported by all members. */
export function shareProtocol(
  members: readonly GroupMember[],
  protocols: readonly GroupProtocol[],
): boolean {
  return protocols.some(({ name }) => members.every((member) => member.supports(name)))
}

/**
 * Each member votes for the first of its protocols that all of them support; the most votes win.
 */
export function selectProtocol(members: readonly GroupMember[]): string {
  const votes = new Map<string, number>()
  for (const member of members) {
    const choice = member.facts.protocols.find(({ name }) =>
      members.every((other) => other.supports(name)),
    )
    assert(choice !== undefined, 'the members of a group have a protocol in common')
    votes.set(choice.name, (votes.get(choice.name) ?? 0) + 1)
  }
  const [first, ...others] = votes
  assert(first !== undefined, 'a group that selects a protocol has members')
  return others.reduce((best, vote) => (vote[1] > best[1] ? vote : best), first)[0]
}
