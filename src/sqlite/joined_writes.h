// A VFS for SQLite (sqlite.org/vfs.html) on top of the default one. SQLite writes each page of a WAL in two
// small parts, a frame's header and the page. This VFS writes all of a transaction in one piece. A detail of
// this room.
//
// It buffers only frames that no other connection can read yet: those before the frame that commits, in
// SQLite's order and at SQLite's offsets. The call that writes the end of the committing frame writes the
// whole buffer before it returns. So the later steps (the sync, the index that shows the commit to others,
// the release of the lock) do not depend on this VFS, whatever `synchronous` is. A call that reads, syncs,
// cuts or measures the file writes the buffer first. Frames still in the buffer when the write lock is
// released were rolled back, and are dropped: the next writer's frames go to the same offset.
//
// When the disk does not take the whole buffer (FULL, IOERR), the call that wrote fails, and so does every
// later write until the write lock is released. A frame that SQLite believes to be written (a cache that
// spilled) is missing, so the transaction can only be rolled back. In locking_mode=EXCLUSIVE the lock is
// never released, so the failure is permanent.
//
// One thread for each connection, like Connection. No memory maps (xFetch): Pawl does not ask for them.
#pragma once

namespace pawl::sqlite {

// Returns the VFS's name for sqlite3_open_v2(). The first call of a process registers it, on top of the VFS
// that is the default at that time.
const char* joined_writes_vfs();

}  // namespace pawl::sqlite
