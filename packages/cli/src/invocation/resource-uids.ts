const UID = /^[0-9a-f]{40}(\/[0-9a-f]{16})*$/

export function isUid(text: string): boolean {
  return UID.test(text)
}

/** Returns the uid of the group that contains a resource; '' for an organization and a managed role. */
export function parentUid(uid: string): string {
  return uid.slice(0, Math.max(0, uid.lastIndexOf('/')))
}
