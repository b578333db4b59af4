// Stub of realtime_tools, for one thread.
#pragma once

namespace realtime_tools {

template <typename T>
class RealtimeBuffer {
public:
    void writeFromNonRT(const T &data) { data_ = data; }
    T *readFromRT() { return &data_; }

private:
    T data_;
};

}  // namespace realtime_tools
